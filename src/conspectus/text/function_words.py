"""The small words of languages: what stands before nouns, before verbs, and between; enough to tell them apart.

English has its own, fuller lists in `words`, `vocabulary` and `gazetteer`. A language that is not here is read by its
script alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class FunctionWords:
    """Words of one language in lower case, by what they do."""

    articles: str = ""
    """They may stand behind a joint; and where nouns have capitals, what they stand before is no name."""
    joints: str = ""
    """Small words that may stand inside a name or between two, each with the English one that it is like."""
    nouns: str = ""
    """Articles, possessives and prepositions: a noun or its adjective follows."""
    verbs: str = ""
    """Pronouns, modal verbs and negations: a verb follows more often."""
    others: str = ""
    asking: str = ""
    """Words that short questions are made of: interrogatives, and the verbs that most often stand beside them."""
    months: str = ""
    titles: str = ""
    """What stands before the name of a person."""
    organizations: str = ""
    places: str = ""
    """Words of a name, or their ends in compounds, that tell what it names."""
    endings: str = ""
    """Ends of words that are nouns, never names, where nouns have capitals."""

    @property
    def function_words(self) -> frozenset[str]:
        """Words that carry no content: those before nouns, those before verbs, and the others between."""
        return frozenset(f"{self.nouns} {self.verbs} {self.others}".split())


GRAMMARS = {
    "en": FunctionWords(
        asking="who whom whose what which when where why how is are was were do does did has have can",
        nouns="the a an of in to for with on at by from as into about between through during against under "
        "after before this that these those his her its our their my your some any every each no many "
        "several other such",
        verbs="he she it they we you i who can could will would shall should may might must not never to",
        others="and or but is are was were be been being has have had do does did if when where which what how "
        "than then there also so because while both more most only just very over out up",
    ),
    "de": FunctionWords(
        asking="wer wen wem wessen was welche welcher welches wann wo wohin woher warum wieso wie wieviel "
        "ist sind war waren starb geboren",
        articles="der die das den dem des ein eine einen einem einer eines kein keine keinen keiner mein meine "
        "sein seine seinen ihr ihre ihren unser unsere dieser diese dieses diesem diesen jeder jede jedes "
        "jedem im ins am ans vom beim zum zur",
        joints="von:of für:for und:and an:at am:at in:at im:at zu:at zur:at zum:at auf:at bei:at",
        nouns="der die das den dem des ein eine einen einem einer eines kein keine keinen keiner mein meine "
        "seinen sein seine seiner seinem ihr ihre ihrer ihrem ihren unser unsere dieser diese dieses "
        "diesem diesen jeder jede jedes jedem jeden alle allen aller viele vielen einige einigen mehrere "
        "mehreren welche welcher welches in im ins an am ans auf aus bei beim mit nach seit von vom zum "
        "zur für durch über unter vor zwischen ohne gegen um bis neben hinter während wegen trotz pro "
        "beide beiden andere anderen",
        verbs="ich du er sie es wir man wer sich nicht nie zu kann können konnte konnten muss müssen musste "
        "mussten will wollen wollte soll sollen sollte sollten darf dürfen durfte würde würden werden "
        "wird wurde wurden möchte",
        others="und oder aber sondern denn dass daß ob wenn als wie weil da damit ist sind war waren sei bin hat "
        "haben hatte hatten gibt gab auch noch nur schon sehr so dann dort hier nun mehr immer wieder "
        "etwa etwas nichts alles selbst was wo wann warum doch jedoch bereits dabei dazu davon daran "
        "darauf deren dessen denen ihn ihm ihnen uns mich dir worden geworden gewesen sowie zwar bzw",
        months="januar jänner februar märz april mai juni juli august september oktober november dezember",
        titles="herr herrn frau fräulein doktor dr prof professor professorin präsident präsidentin "
        "bürgermeister bürgermeisterin kanzler kanzlerin minister ministerin könig königin kaiser "
        "kaiserin papst graf gräfin fürst herzog pfarrer direktor direktorin",
        organizations="universität hochschule akademie institut schule gymnasium gesellschaft genossenschaft verein "
        "verband bund stiftung partei gewerkschaft bank sparkasse versicherung ministerium amt behörde "
        "rat kommission ausschuss museum bibliothek archiv krankenhaus klinik kirche zeitung verlag "
        "fabrik werk werke konzern unternehmen gmbh ag kg club klub orchester theater",
        places="stadt dorf straße strasse gasse platz allee weg brücke tor turm schloss burg dom berg gebirge "
        "tal see meer fluss bach insel wald heide küste hafen bahnhof flughafen park kreis land republik "
        "staat haus hof",
        endings="ung ungen heit heiten keit keiten schaft schaften tion tionen ismus tät täten nis nisse chen "
        "lein",
    ),
    "fr": FunctionWords(
        asking="qui que quoi quel quelle quels quelles quand où pourquoi comment combien est était sont mort "
        "morte né née",
        articles="le la les l",
        joints="de:of du:of des:of d:of pour:for et:and à:at au:at aux:at en:at sur:at sous:at",
        nouns="le la les l' un une des du de d' au aux ce cet cette ces mon ma mes ton son sa ses notre nos "
        "votre vos leur leurs quelques plusieurs chaque tout toute tous toutes aucun aucune quel quelle "
        "quels quelles dans en par pour avec sans sur sous entre vers chez depuis pendant contre avant "
        "après selon malgré parmi dès jusqu'à",
        verbs="je tu il elle on nous vous ils elles ne n' se s' me m' te y qui peut peuvent pouvait doit "
        "doivent devait veut faut pas jamais c' j'",
        others="et ou mais donc car ni que qu' si comme quand où dont lorsque puis aussi ainsi alors encore déjà "
        "très plus moins même est sont était étaient fut furent être été a ont avait avaient avoir eu "
        "fait lui eux cela ça celui celle ceux là ici bien trop peu non oui pourquoi comment quoi rien",
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        titles="monsieur madame mademoiselle m mme mlle maître docteur dr professeur pr président présidente "
        "maire ministre roi reine comte comtesse duc duchesse abbé père sœur",
        organizations="université école lycée collège institut académie société compagnie entreprise association "
        "fédération fondation parti syndicat banque caisse ministère mairie conseil commission comité "
        "musée bibliothèque hôpital église journal éditions coopérative chambre cour tribunal club "
        "orchestre théâtre",
        places="ville village rue avenue boulevard place quai pont port gare aéroport château tour mont montagne "
        "col vallée lac mer rivière fleuve île forêt parc jardin côte cap région département province "
        "pays république",
    ),
    "es": FunctionWords(
        asking="quién quiénes qué cuál cuáles cuándo dónde cómo cuánto cuántos cuántas es era fue son murió "
        "nació",
        articles="el la los las",
        joints="de:of del:of para:for y:and e:and en:at a:at al:at",
        nouns="el la los las un una unos unas de del al mi mis tu su sus nuestro nuestra nuestros nuestras este "
        "esta estos estas ese esa esos esas aquel aquella cada algún alguna algunos algunas ningún todo "
        "toda todos todas varios varias otro otra otros otras en por para con sin sobre entre hacia desde "
        "hasta contra según durante ante bajo tras mediante",
        verbs="yo él ella ellos ellas nosotros usted ustedes no nunca se me te nos le les lo que quien quienes "
        "puede pueden podía debe deben debía quiere hay",
        others="y e o u pero sino porque si como cuando donde cuyo cuya aunque mientras también así entonces ya "
        "aún muy más menos mismo misma es son era eran fue fueron ser sido está están estaba estaban "
        "estar ha han había habían haber tiene tienen tenía hace qué cuál quién dónde cuándo cómo esto "
        "eso ello luego pues sólo solo siempre",
        months="enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre noviembre "
        "diciembre",
        titles="señor señora señorita sr sra srta don doña doctor doctora dr dra profesor profesora presidente "
        "presidenta alcalde alcaldesa ministro ministra rey reina conde condesa duque padre fray san "
        "santa",
        organizations="universidad escuela instituto colegio academia sociedad compañía empresa asociación federación "
        "fundación partido sindicato banco caja ministerio ayuntamiento consejo comisión comité museo "
        "biblioteca hospital iglesia periódico diario editorial cooperativa cámara tribunal club orquesta "
        "teatro",
        places="ciudad pueblo villa calle avenida plaza paseo puente puerto estación aeropuerto castillo torre "
        "monte montaña sierra valle lago mar río isla bosque parque jardín costa cabo región provincia "
        "departamento país república",
    ),
    "pt": FunctionWords(
        asking="quem que qual quais quando onde porque como quanto quantos quantas é era foi são morreu "
        "nasceu fica",
        articles="o a os as",
        joints="de:of do:of da:of dos:of das:of para:for e:and em:at no:at na:at ao:at",
        nouns="o a os as um uma uns umas de do da dos das ao aos à às no na nos nas num numa pelo pela pelos "
        "pelas meu minha seu sua seus suas nosso nossa este esta estes estas esse essa esses essas aquele "
        "aquela cada algum alguma alguns algumas nenhum todo toda todos todas vários várias outro outra "
        "outros outras em por para com sem sobre entre até desde contra segundo durante sob após perante",
        verbs="eu ele ela eles elas nós você vocês não nunca se me te lhe lhes que quem pode podem podia deve "
        "devem devia quer há",
        others="e ou mas porém porque se como quando onde cujo cuja embora enquanto também assim então já ainda "
        "muito mais menos mesmo mesma é são era eram foi foram ser sido está estão estava estavam estar "
        "tem têm tinha tinham ter havia qual quais isto isso aquilo depois pois só apenas sempre lá aqui",
        months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        titles="senhor senhora sr sra dom dona doutor doutora dr dra professor professora presidente prefeito "
        "prefeita ministro ministra rei rainha conde condessa duque padre frei",
        organizations="universidade escola instituto colégio academia sociedade companhia empresa associação federação "
        "fundação partido sindicato banco caixa ministério câmara prefeitura conselho comissão comitê "
        "museu biblioteca hospital igreja jornal editora cooperativa tribunal clube orquestra teatro",
        places="cidade vila aldeia rua avenida praça largo ponte porto estação aeroporto castelo torre monte "
        "montanha serra vale lago mar rio ilha floresta parque jardim costa cabo região província estado "
        "país república",
    ),
    "it": FunctionWords(
        asking="chi che cosa cos quale quali quando dove perché come quanto quanti quante è era fu sono "
        "morto morta morì nato nata",
        articles="il lo la i gli le l",
        joints="di:of del:of della:of dello:of dei:of degli:of delle:of dell:of d:of da:of dal:of per:for e:and "
        "ed:and a:at in:at al:at alla:at sul:at",
        nouns="il lo la i gli le l' un uno una un' di del dello della dei degli delle dell' al allo alla ai "
        "agli alle all' dal dalla dai dalle dall' nel nello nella nei negli nelle nell' sul sulla sui "
        "sulle sull' mio mia suo sua suoi sue nostro nostra questo questa questi queste quel quello "
        "quella quei quegli quelle ogni alcuni alcune nessun tutto tutta tutti tutte altro altra altri "
        "altre in a da con su per tra fra senza verso contro durante dopo prima secondo presso",
        verbs="io egli lui lei essi loro noi voi non mai si mi ti ci vi ne che chi può possono poteva deve "
        "devono doveva vuole",
        others="e ed o ma però perché se come quando dove cui mentre anche così allora già ancora molto più meno "
        "stesso stessa è sono era erano fu furono essere stato stata stati state ha hanno aveva avevano "
        "avere c'è qual quale quali quanto cosa ciò poi quindi solo sempre qui lì",
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        titles="signor signora signorina sig dottor dottoressa dott dr professor professoressa prof presidente "
        "sindaco sindaca ministro ministra re regina conte contessa duca don suor papa",
        organizations="università scuola istituto liceo accademia società compagnia azienda associazione federazione "
        "fondazione partito sindacato banca cassa ministero comune consiglio commissione comitato museo "
        "biblioteca ospedale chiesa giornale casa editrice cooperativa camera tribunale club orchestra "
        "teatro",
        places="città paese borgo via viale piazza ponte porto stazione aeroporto castello torre monte montagna "
        "valle lago mare fiume isola bosco parco giardino costa capo regione provincia stato repubblica",
    ),
    "nl": FunctionWords(
        asking="wie wat welk welke wanneer waar waarom hoe hoeveel is zijn was waren stierf overleed geboren",
        articles="het een",
        joints="voor:for en:and in:at aan:at op:at te:at bij:at",
        nouns="de het een van in op aan uit bij met naar voor door over onder tussen zonder tegen om tot na "
        "sinds tijdens rond langs achter binnen buiten deze dit die dat mijn zijn haar hun ons onze uw "
        "elke elk ieder iedere alle veel sommige enkele enige andere geen",
        verbs="ik jij je hij zij ze wij we men wie er niet nooit te kan kunnen kon konden moet moeten moest wil "
        "willen zou zouden zal zullen mag mogen werd werden wordt worden zich",
        others="en of maar want omdat als dan toen wanneer waar waarom hoe wat welke is was waren ben bent heeft "
        "hebben had hadden ook nog al wel zeer zo daar hier nu meer minder zelf al alleen altijd weer hem "
        "hen geweest geworden",
        months="januari februari maart april mei juni juli augustus september oktober november december",
        titles="directeur voorzitter meneer mevrouw mijnheer mevr dhr mw dr prof professor dokter president burgemeester minister "
        "koning koningin keizer graaf gravin hertog pastoor",
        organizations="universiteit hogeschool academie instituut school genootschap coöperatie vereniging verbond bond "
        "stichting partij vakbond bank ministerie gemeente raad commissie comité museum bibliotheek "
        "archief ziekenhuis kerk krant uitgeverij fabriek bedrijf bv nv club orkest theater",
        places="stad dorp straat laan plein gracht kade weg brug poort toren kasteel berg dal meer zee rivier "
        "beek eiland bos heide kust haven station luchthaven park provincie land republiek",
    ),
    "sv": FunctionWords(
        joints="av:of för:for och:and i:at på:at",
        nouns="en ett den det de i på av för med till från om vid under över mellan genom utan mot efter innan "
        "hos denna detta dessa min sin sitt sina hans hennes deras vår våra varje alla många några andra "
        "ingen inget",
        verbs="jag du han hon vi ni man inte aldrig att kan kunde ska skulle vill ville måste bör får fick sig",
        others="och eller men utan eftersom om när där hur vad vilken vilket som är var vara varit har hade ha "
        "blev blir också så då här nu mer mycket sedan redan än även bara",
        months="januari februari mars april maj juni juli augusti september oktober november december",
        titles="herr fru fröken dr doktor professor president kung drottning greve",
    ),
    "da": FunctionWords(
        joints="af:of for:for og:and i:at på:at",
        nouns="en et den det de i på af for med til fra om ved under over mellem gennem uden mod efter før hos "
        "denne dette disse min sin sit sine hans hendes deres vores hver alle mange nogle andre ingen "
        "intet",
        verbs="jeg du han hun vi man ikke aldrig at kan kunne skal skulle vil ville må måtte bør får fik sig "
        "der",
        others="og eller men fordi hvis når hvor hvordan hvad hvilken som er var være været har havde have blev "
        "bliver også så da her nu mere meget siden allerede end selv kun",
        months="januar februar marts april maj juni juli august september oktober november december",
        titles="hr fru frøken dr doktor professor præsident konge dronning greve",
    ),
    "no": FunctionWords(
        joints="av:of for:for og:and i:at på:at",
        nouns="en ei et den det de i på av for med til fra om ved under over mellom gjennom uten mot etter før "
        "hos denne dette disse min sin sitt sine hans hennes deres vår hver alle mange noen andre ingen",
        verbs="jeg du han hun vi man ikke aldri å kan kunne skal skulle vil ville må måtte bør får fikk seg",
        others="og eller men fordi hvis når hvor hvordan hva hvilken som er var være vært har hadde ha ble blir "
        "også så da her nå mer mye siden allerede enn selv bare",
        months="januar februar mars april mai juni juli august september oktober november desember",
        titles="herr fru frøken dr doktor professor president konge dronning greve",
    ),
    "fi": FunctionWords(
        others="ja tai mutta on oli ovat olivat olla ollut ei että se ne hän he joka jotka jonka mikä mitä kun "
        "jos niin myös kuin sekä vain jo nyt sitten tämä tämän nämä sen niiden hänen siitä sitä vielä "
        "ennen jälkeen kanssa mukaan kuitenkin koska eikä ole olisi voi minä sinä me te mukana kaikki "
        "muun muassa",
        months="tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta "
        "lokakuuta marraskuuta joulukuuta",
    ),
    "pl": FunctionWords(
        asking="kto kogo kim kiedy gdzie dlaczego jak jaki jaka jakie ile co czym jest był była zmarł zmarła "
        "urodził urodziła",
        joints="i:and w:at na:at",
        nouns="w we na z ze do od dla przez po przy o za nad pod przed między bez wśród według podczas ten ta "
        "to te tego tej tym tych ich jego jej każdy każda wszystkie wielu kilka swój swoją swoje",
        verbs="nie się on ona ono oni my wy ja ty kto może mogą mógł musi można nigdy",
        others="i oraz a ale lub albo że aby żeby jak jako gdy kiedy gdzie który która które którzy których "
        "którego której jest są był była było były być został została także też już jeszcze tylko bardzo "
        "więc czy co jeśli ponieważ",
        months="stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada "
        "grudnia",
        titles="pan pani dr doktor prof profesor prezydent król królowa hrabia ksiądz dyrektor prezes minister",
        organizations="uniwersytet uniwersytecie akademia instytut szkoła liceum spółdzielnia spółdzielnię towarzystwo stowarzyszenie związek "
        "fundacja partia bank ministerstwo urząd rada komisja muzeum biblioteka szpital kościół gazeta "
        "wydawnictwo fabryka zakłady spółka klub orkiestra teatr",
        places="miasto wieś ulica plac most zamek góra góry jezioro morze rzeka wyspa las park port dworzec "
        "województwo powiat kraj dolina",
    ),
    "cs": FunctionWords(
        joints="a:and v:at na:at",
        nouns="v ve na z ze do od pro přes po při o za nad pod před mezi bez podle během ten ta to tento tato "
        "toto tyto jeho její jejich každý všechny několik svůj svou své",
        verbs="ne se si on ona oni my vy já ty kdo může mohou mohl musí lze nikdy",
        others="a i ale nebo že aby jak jako když kde který která které kteří kterých kterého je jsou byl byla "
        "bylo byli být také již ještě jen velmi tak co pokud protože však",
        months="ledna února března dubna května června července srpna září října listopadu prosince",
    ),
    "hu": FunctionWords(
        others="a az és vagy de hogy is nem van volt voltak egy ez ezt ezek azt azok mint csak még már meg ki el "
        "fel le be ha mert aki amely amelyek ami után alatt között szerint által majd sem lehet kell "
        "minden több nagyon pedig így úgy akkor hol mikor",
    ),
    "ro": FunctionWords(
        articles="al ale a",
        joints="de:of pentru:for și:and din:at",
        nouns="un o unui unei niște al a ai ale de din la în pe cu pentru prin spre fără sub peste între după "
        "până despre acest această acești aceste acel acea fiecare toate toți mulți câteva alt altă",
        verbs="eu tu el ea noi voi ei ele nu se îi îl le își poate pot trebuie cine",
        others="și sau dar că să ca dacă când unde cum care ce este sunt era erau fost fi are au avea mai foarte "
        "doar și lui lor decât atunci aici acolo tot deja încă",
    ),
    "ca": FunctionWords(
        articles="el la els les l",
        joints="de:of del:of d:of per:for i:and a:at en:at",
        nouns="el la els les l' un una uns unes de del dels d' al als en amb per sense sobre entre des fins "
        "contra segons durant aquest aquesta aquests aquestes aquell aquella cada tot tota tots totes seu "
        "seva seus seves",
        verbs="jo ell ella ells no mai es s' hi ho que qui pot poden ha han hem",
        others="i o però perquè si com quan on també així ja més molt és són era eren va van fou ser estat té "
        "tenen havia aquí doncs només sempre amb als",
    ),
    "tr": FunctionWords(
        asking="kim kimdir kimin ne nedir nerede neden nasıl niçin hangi kaç zaman öldü doğdu",
        others="ve bir bu da de için ile olarak olan daha çok gibi kadar sonra en ne o ama veya değil var yok "
        "ise her ki şu onun bunun tarafından göre olduğu olduğunu oldu edilen eden ancak hem ya iki diye "
        "nasıl neden kim",
        titles="bay bayan sayın dr doktor prof profesör başkan müdür bakan vali",
        organizations="üniversite üniversitesi enstitü enstitüsü okul okulu lise lisesi kooperatif kooperatifi "
        "dernek derneği vakıf vakfı parti partisi sendika sendikası banka bankası bakanlık bakanlığı "
        "belediye belediyesi şirket şirketi müze müzesi kütüphane kütüphanesi hastane hastanesi "
        "gazete gazetesi yayınevi fabrika fabrikası kulüp kulübü tiyatrosu",
        places="şehri ili ilçesi köyü mahallesi caddesi sokağı meydanı köprüsü kalesi kulesi dağı vadisi gölü "
        "denizi nehri adası ormanı limanı garı havalimanı parkı cumhuriyeti",
        months="ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık",
    ),
    "id": FunctionWords(
        others="yang dan di ke dari untuk pada dengan dalam ini itu adalah sebagai oleh tidak akan telah juga "
        "atau karena mereka dia ia kami kita saya anda lebih dapat bisa sudah menjadi para sebuah seorang "
        "tersebut antara bahwa hingga sejak secara seperti ketika ada namun",
    ),
    "vi": FunctionWords(
        others="và là của có không được một những các cho với trong đã để này khi người từ ở đó cũng như vào ra "
        "lại về theo sẽ đến nhiều hơn bởi tại trên sau trước nên thì mà rất phải năm",
    ),
    "ru": FunctionWords(
        asking="кто кого кому что такое такой такая когда где куда откуда почему зачем как какой какая какое "
        "сколько умер умерла родился родилась",
        joints="и:and на:at в:at",
        nouns="в во на с со из к ко от до для по о об обо у при за над под перед между через без после около "
        "среди этот эта это эти этого этой этом этих тот та те того той свой своя свои своего своей его "
        "её их наш наша каждый каждая все всех весь вся многие несколько другой другие",
        verbs="я ты он она оно мы вы они не ни никогда кто может могут мог могла должен должна должны можно "
        "нужно себя",
        others="и а но или что чтобы как когда где если потому также тоже так уже ещё еще только лишь очень "
        "более было был была были быть будет есть который которая которое которые которых которого "
        "которой котором же ли бы то там тут здесь тогда затем ему ей им нам вам меня тебя него неё них "
        "ним чем",
        months="января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        titles="господин госпожа доктор профессор президент мэр министр король королева царь император граф "
        "графиня князь генерал капитан директор академик",
        organizations="университет институт академия школа лицей общество компания предприятие ассоциация федерация "
        "фонд партия союз профсоюз банк министерство совет комиссия комитет музей библиотека архив "
        "больница церковь газета издательство завод фабрика кооператив клуб оркестр театр",
        places="город деревня село улица проспект площадь мост набережная порт вокзал аэропорт замок крепость "
        "башня гора хребет долина озеро море река остров лес парк берег мыс область район край страна "
        "республика",
    ),
    "uk": FunctionWords(
        others="і й та але або що щоб як коли де якщо тому також теж так вже ще тільки дуже більше було був була "
        "були бути буде є який яка яке які яких якого якої він вона воно вони ми ви я не ні у в на з із "
        "до від для по про при за над під перед між через без після цей ця це ці його її їх свій своя "
        "може можна",
        months="січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    ),
    "bg": FunctionWords(
        others="и но или че да как когато където ако защото също така вече още само много повече беше бяха бил "
        "била е са съм ще който която което които той тя то те ние вие аз не в във на с със от до за по "
        "при над под пред между през без след този тази това тези му ѝ им си се може",
    ),
    "el": FunctionWords(
        asking="ποιος ποια ποιο ποιοι τι πότε πού γιατί πώς πόσο πόσα πόσοι είναι ήταν πέθανε γεννήθηκε",
        articles="ο η το οι τα της του των τον την τη",
        joints="του:of της:of των:of για:for και:and",
        nouns="ο η το οι τα του της των τον την τους τις στο στη στην στον στα στους στις σε από με για προς "
        "κατά μετά μέχρι χωρίς μεταξύ υπό ένας ένα μια μία ενός αυτός αυτή αυτό αυτοί κάθε όλα όλες πολλά "
        "μερικά",
        verbs="εγώ εσύ εμείς δεν δε μη μην θα να μπορεί μπορούν πρέπει ποιος ποια μου σου μας σας",
        others="και ή αλλά όμως ότι πως που αν όταν όπου επίσης έτσι τότε ήδη ακόμη πολύ πιο περισσότερο είναι "
        "ήταν έχει έχουν είχε είχαν όπως γιατί επειδή ενώ τι πού πότε μόνο εκεί εδώ",
        months="ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου "
        "νοεμβρίου δεκεμβρίου",
        titles="διευθυντής διευθύντρια κύριος κυρία κ δρ δόκτωρ καθηγητής καθηγήτρια πρόεδρος δήμαρχος υπουργός βασιλιάς βασίλισσα",
        organizations="πανεπιστήμιο σχολή ινστιτούτο ακαδημία εταιρεία ένωση ομοσπονδία ίδρυμα κόμμα τράπεζα υπουργείο "
        "συμβούλιο επιτροπή μουσείο βιβλιοθήκη νοσοκομείο εκκλησία εφημερίδα συνεταιρισμός θέατρο",
        places="πόλη χωριό οδός λεωφόρος πλατεία γέφυρα λιμάνι σταθμός κάστρο πύργος όρος βουνό κοιλάδα λίμνη "
        "θάλασσα ποταμός νησί δάσος πάρκο ακτή περιοχή νομός χώρα δημοκρατία",
    ),
    "ar": FunctionWords(
        asking="من ما ماذا متى أين لماذا كيف كم هو هي كان كانت توفي توفيت ولد ولدت",
        nouns="في من إلى على عن مع بين خلال بعد قبل عند قرب منذ حتى تحت فوق حول ضد دون كل بعض جميع هذا هذه ذلك تلك "
        "هؤلاء أي غير",
        verbs="هو هي هم هن أنا نحن أنت لا لم لن ما قد سوف يمكن يجب كان كانت كانوا يكون تكون ليس ليست",
        others="عام سنة و أو ثم لكن ولكن أن إن أنه أنها إنه لأن إذا كما حيث التي الذي الذين اللذين عندما متى أين "
        "كيف ماذا لماذا هل أيضا فقط جدا أكثر وقد وهو وهي وكان وكانت له لها لهم به بها فيه فيها منه منها "
        "عليه عليها",
        months="يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
        titles="السيد السيدة الدكتور الدكتورة الأستاذ الأستاذة الرئيس الوزير الوزيرة الملك الملكة الأمير الشيخ "
        "المهندس المهندسة",
        organizations="جامعة معهد مدرسة كلية أكاديمية شركة جمعية اتحاد مؤسسة حزب نقابة بنك مصرف وزارة بلدية مجلس لجنة "
        "متحف مكتبة مستشفى كنيسة صحيفة تعاونية نادي مسرح",
        places="مدينة قرية شارع ساحة ميدان جسر ميناء محطة مطار قلعة برج جبل وادي بحيرة بحر نهر جزيرة غابة حديقة "
        "ساحل منطقة محافظة دولة جمهورية حي",
    ),
    "ja": FunctionWords(
        others="は が を に で と も の へ や から まで より である です だった だ た した する "
        "している いる ある という ため こと もの これ それ この その",
        titles="さん 氏 様 君 先生 教授 博士 社長 会長 市長 町長 村長 知事 首相 大統領 大臣 監督 選手 "
        "記者 医師 弁護士 部長 課長 所長 館長 校長 議員 夫人 夫妻",
        organizations="大学 大学院 高校 学校 学院 会社 銀行 組合 協会 学会 連盟 財団 博物館 美術館 図書館 病院 "
        "研究所 委員会 新聞 新聞社 出版 出版社 放送 機構 省 庁 党 鉄道 製作所 工業 商会 商店 劇場 "
        "楽団",
        places="都 道 府 県 市 区 町 村 郡 島 山 川 湖 岬 峠 駅 港 橋 空港 公園 城 寺 神社 通り "
        "海 湾 平野 半島 諸島 温泉",
    ),
    "ko": FunctionWords(
        others="은 는 을 를 의 에 에서 에서는 으로 와 과 도 에게 께서 부터 까지 처럼 보다 이다 그 이 "
        "저 것 수 등 및 있다 있는 했다 하는 한다 되었다 된다 그리고 그러나 하지만 또한 때 때문에 "
        "위해 대한 대해 통해",
        titles="씨 교수 박사 대표 회장 사장 시장 도지사 대통령 총리 장관 감독 선수 기자 의원 작가 배우 "
        "가수 선생 선생님 관장 교장",
        organizations="대학교 대학 고등학교 중학교 초등학교 학교 회사 은행 협동조합 조합 협회 학회 연맹 재단 "
        "박물관 미술관 도서관 병원 연구소 위원회 신문 신문사 출판사 방송 공사 그룹 극장",
        places="특별시 광역시 시 군 구 읍 면 도 섬 산 강 호 역 항 공항 공원 해변 시장 다리",
    ),
    "fa": FunctionWords(
        nouns="در از به با برای تا بر روی بین پس پیش هر همه این آن یک چند",
        verbs="او آنها من ما شما نمی می نه",
        others="و یا اما که را است بود بودند هستند شد شده شود اگر چون نیز هم چه کجا کی چگونه چرا خود دیگر بیش",
    ),
    "he": FunctionWords(
        asking="מי מה מהו מהי מתי איפה היכן למה מדוע איך כמה הוא היא זה זאת מת מתה נולד נולדה",
        nouns="של על אל מן עם בין לפני אחרי תחת ללא נגד כל כמה זה זו אלה אותו אותה",
        verbs="הוא היא הם הן אני אנחנו אתה לא אין יש יכול צריך היה היתה הייתה היו",
        others="את או אבל כי אם כאשר איפה איך מה מי למה גם רק מאוד יותר אשר כדי אך כן עוד כבר לו לה להם בו בה",
        titles="מר גברת דר פרופסור הרב הנשיא השר השרה המלך המלכה המנהל המנהלת",
        organizations="אוניברסיטה אוניברסיטת מכללה מכון אגודה אגודת האגודה חברה חברת בנק משרד עיריית מועצת "
        "ועדת מוזיאון ספריית בית-חולים מפלגת איגוד קרן עיתון תיאטרון",
        places="עיר העיר כפר רחוב שדרות כיכר גשר הר עמק ים נהר אי יער פארק נמל תחנת מדינת אזור",
    ),
    "hi": FunctionWords(
        asking="कौन क्या कब कहाँ क्यों कैसे कितना कितने है हैं था थी हुई हुआ मृत्यु जन्म",
        others="है हैं था थी थे और का की के को में से पर ने यह वह ये वे एक भी नहीं तो ही कर किया गया इस उस जो कि "
        "या लिए साथ बाद तक अपने होता हुआ हुई कुछ सब जब कहाँ क्या कैसे क्यों कौन",
        titles="श्री श्रीमती सुश्री डॉ डॉक्टर प्रोफेसर राष्ट्रपति प्रधानमंत्री मंत्री निदेशक",
        organizations="विश्वविद्यालय महाविद्यालय विद्यालय संस्थान समिति संघ बैंक कंपनी मंत्रालय परिषद आयोग "
        "संग्रहालय पुस्तकालय अस्पताल दल पार्टी न्यास",
        places="नगर शहर गाँव ज़िला जिला राज्य नदी पर्वत झील घाटी द्वीप",
    ),
}  # fmt: skip
"""By code. The words of some are only enough to know the language by."""


@cache
def function_words_of(language: str) -> FunctionWords:
    """Return the small words of a language, none where they are not known."""
    return GRAMMARS.get(language, FunctionWords())
