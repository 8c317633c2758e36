"""Short lists of words, in lower case, that tell what a name names: hints, for the context decides."""

GIVEN_NAMES = frozenset(
    """
    aaron abigail adam adrian ahmed aisha alan albert alejandro alex alexander alexandra alexis alfred ali
    alice alison allen amanda amara amelia amina amy ana anders andre andrea andreas andrew andy angela anita
    ann anna anne annie anthony antonio arjun arthur ashley astrid barbara beatrice ben benjamin bernard beth
    bill bob boris brad brandon brian bridget bruce carl carla carlos carmen carol caroline catherine cecilia
    charles charlie charlotte chen chloe chris christian christina christine christopher claire clara claudia
    colin connor craig cynthia daisy damian dan dana daniel daniela danielle danny daphne dave david dawn
    deborah dennis derek diana diane diego dmitri dominic don donald donna dorothy douglas drew duncan dylan
    ed eddie edith edmund eduardo edward edwin eileen elaine eleanor elena eli elias elisabeth elizabeth ella
    ellen elon emil emily emma eric erik erin ernest esther ethan eva evan eve evelyn faith fatima felix
    fernando fiona florence frances francis francisco frank fred frederick gabriel gary gavin geoff geoffrey
    george gerald gina giovanni gloria gordon grace graham greg gregory guy hannah hans harold harriet harry
    hassan heather helen henrik henry herbert hiroshi howard hugh hugo ian ibrahim igor ines ingrid irene
    irina iris isaac isabel isabella ivan jack jackie jacob jacqueline jake james jamie jan jane janet jaron
    jason javier jean jeff jeffrey jennifer jenny jeremy jerry jesse jessica jill jim jimmy joan joanna joe
    joel johan johannes john johnny jon jonas jonathan jorge jose joseph joshua joyce juan judith judy julia
    julian julie june justin justine karen karl kate katherine kathleen kathy katie keith kelly ken kenneth
    kevin kim kimberly kofi kumar kyle lars laura lauren laurence lawrence leah lee lena leo leon leonard
    leslie lewis liam lilian lily linda lisa liz louis louise lucas lucia lucy luis luke lydia magnus malcolm
    manuel marc marcel marco marcus margaret maria marie marina mario mark marta martha martin marvin mary
    mateo matt matthew maureen max maya megan mei melissa michael michelle miguel mikael mike mikhail mina
    mira miranda miriam mohamed mohammed moira molly monica morgan muhammad nadia nancy naomi natalie natasha
    nathan neal ned neil nicholas nick nicola nicolas nigel nikolai nina noah noel nora norman olga oliver
    olivia omar oren oscar otto owen pablo pamela pat patricia patrick paul paula pedro peggy penny percy
    perry peter phil philip philippa phoebe priya rachel rafael raj ralph ramon rana randall raymond rebecca
    reid rene ricardo richard rita rob robert roberto robin roger roland ron ronald rosa rosalind rose
    rosemary ross roy ruby rupert russell ruth ryan sally sam samantha samir samuel sandra sara sarah satya
    scott sean sebastian sergei sergey serena shane sharon sheila shirley sidney silvia simon simone sofia
    sonia sophia sophie stanley stefan stella stephanie stephen steve steven stuart sue susan suzanne sven
    sylvia tamara tanya tara ted teresa terence terry thea theo theodore theresa thomas tim timothy tina
    tobias todd tom tommy tony tracy trevor ursula vera veronica victor victoria vincent virginia vivian
    vladimir walter wanda warren wayne wei wendy wilhelm will william winston xavier yasmin yuki yusuf yvonne
    zoe
    """.split()
)

COUNTRIES_AND_CITIES = frozenset(
    """
    afghanistan africa albania algeria america amsterdam antarctica argentina arizona arkansas asia athens
    atlanta austin australia austria baltimore bangkok bangladesh barcelona beijing belgium berlin bolivia
    bosnia boston brazil bristol britain brussels budapest bulgaria cairo california cambodia cambridge
    cameroon canada chicago chile china colombia colorado connecticut copenhagen croatia cuba cyprus dallas
    delaware delhi denmark denver detroit dubai dublin ecuador edinburgh egypt england estonia ethiopia europe
    finland florida france geneva germany ghana glasgow greece greenland guatemala hamburg hawaii helsinki
    houston hungary iceland idaho illinois india indiana indonesia iowa iran iraq ireland israel istanbul
    italy jamaica japan jerusalem jordan kansas kentucky kenya korea kuwait laos latvia lebanon lisbon
    lithuania liverpool london louisiana luxembourg madrid maine malaysia malta manchester maryland
    massachusetts mexico miami michigan milan minneapolis minnesota mississippi missouri montana montreal
    morocco moscow mumbai munich myanmar nairobi nebraska nepal netherlands nevada nigeria norway ohio
    oklahoma ontario oregon oslo oxford pakistan panama paris pennsylvania peru philadelphia philippines
    phoenix pittsburgh poland portland portugal prague quebec rome romania russia rwanda scotland seattle
    senegal seoul serbia shanghai shenzhen siberia singapore slovakia slovenia somalia spain stockholm sudan
    sweden switzerland sydney syria taiwan tanzania tehran tennessee texas thailand tokyo toronto tunisia
    turkey uganda uk ukraine us usa utah vancouver venezuela venice vermont vienna vietnam wales warsaw
    wisconsin wyoming yemen zambia zimbabwe zurich albuquerque brooklyn calgary manhattan ottawa queensland
    quito riyadh sacramento tel-aviv tbilisi
    """.split()
)

NATIONALITIES = frozenset(
    """
    african afro-american american arab argentine asian australian austrian belgian brazilian british canadian
    chinese christian cuban czech danish dutch egyptian english european filipino finnish french german greek
    hungarian icelandic indian indonesian iranian iraqi irish islamic israeli italian japanese jewish korean
    latin latino mexican muslim nigerian norwegian pakistani polish portuguese roman romanian russian scottish
    soviet spanish swedish swiss syrian turkish ukrainian venezuelan vietnamese welsh western eastern northern
    southern
    """.split()
)

CALENDAR = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december jan feb mar apr jun jul aug sept oct nov dec spring summer autumn
    winter christmas easter
    """.split()
)

CURRENCIES = frozenset(
    "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF IDR INR JPY KRW MXN NOK NZD PLN RMB RON SEK SGD USD ZAR".split()
)

ROLES = frozenset(
    """
    academic administrator advisor advocate affairs analyst assistant associate attorney author ceo cfo chair
    chairman chief clerk cofounder co-founder commander commissioner consultant coo correspondent cto cio vp
    evp svp dean deputy designer developer director editor engineer engineering executive fellow founder
    general head host inspector intern lead leader lecturer manager managing marketing master member minister
    officer operating operations owner partner ph.d phd president principal producer product professor program
    programme project reporter research researcher science scientist secretary senior junior software
    specialist staff strategy student supervisor ta teacher technical technology treasurer vice mba bs ms md
    """.split()
)
"""A name made of these words alone is an office, not a thing."""

ORGANIZATION_WORDS = frozenset(
    """
    academy agency alliance association authority board brothers bureau business centre center church club co
    collective college commission committee company consortium cooperative co-op corp corporation council
    department dept enterprises federation force forum foundation friends fund gazette group guild hospital
    inc industries initiative institute institution journal labs lab laboratories laboratory league ltd llc
    ministry museum network observatory office organisation organization partners party plc post press
    programme railway review school schools service services society studio studios systems team times trust
    union university tech ventures works capital airlines media mutual partnership cooperative
    gmbh ag oy oyj ab bv srl holdings
    """.split()
)

LOCATION_WORDS = frozenset(
    """
    airport avenue bay beach borough bridge building canal canyon cape castle cathedral city coast county cove
    creek crescent desert district dock estate estuary farm field forest garden gardens gate glacier gulf hall
    harbor harbour ledge room rooms viaduct head heath hill hills house inlet island islands isle isles
    junction lake lane lighthouse loch marsh moor mount mountain mountains ocean park peninsula pier plain
    plaza point port quay reef region ridge river road rock sea shore sound square state states station
    straits street terminal terrace tower town trail valley village wharf wood woods
    """.split()
)

EVENT_WORDS = frozenset(
    """
    award awards battle campaign celebration challenge championship championships conference congress crisis
    cup day disaster dinner earthquake election exhibition expo fair fest festival flood games gala hearing
    hackathon inquiry launch marathon match meeting olympics outbreak pandemic parade prize protest race
    referendum regatta renaissance revolution riot storm strike summit symposium tour tournament trial
    uprising vote war week workshop
    """.split()
)

WORK_WORDS = frozenset(
    """
    act album anthem bible book chart chronicle chronicles encyclopedia guide handbook hymn journal law
    magazine manifesto map movie novel opera oratorio painting paper podcast poem report saga series show song
    sonata story symphony tales theorem theory thesis trilogy
    """.split()
)

CONCEPT_WORDS = frozenset(
    """
    agreement algorithm bequest disease doctrine effect engine fallacy grant hypothesis language learning
    licence license loan mechanics method model paradox plan policy principle processing project proposal
    protocol recognition scheme science sciences scholarship standard strategy syndrome system systems
    technology
    """.split()
)

SAYING = frozenset(
    """
    said says told asked asks added adds argued argues recalled recalls explained explains wrote writes
    replied joined remembers believes died married grew taught laughed smiled
    """.split()
)
"""Words after the name of a person."""

BEFORE_PERSONS = frozenset("named meet met i'm cousin sister brother wife husband friend colleague".split())
BEFORE_PLACES = frozenset(
    "in near across outside around throughout from to 在 于 於 到 从 從 往 至 位于 前往 来自 抵达 赴 驻".split()
)
BEFORE_ORGANIZATIONS = frozenset("at joined left founded company startup firm".split())
BEFORE_WORKS = frozenset("wrote book read watching watched film movie novel song titled entitled album".split())
