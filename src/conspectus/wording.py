"""What is said without a language model, and beside what one says, by language: headings, links and notices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache


@dataclass(frozen=True)
class Wording:
    """Fixed words of one language; `{}` is where names and numbers go."""

    assembled: str
    """The notice of an answer that is quotations."""
    nothing: str
    """The answer where nothing was found."""
    written: str
    """The notice of an answer that a language model wrote."""
    selected: str
    """The notice of an answer that was read off the graph."""
    unread: str
    """The notice of an answer that a model gave without reading."""
    crossing: str
    """The notice of an answer whose follow-up questions no model asked."""
    spelt: str
    """The notice of an answer over phrases without vectors."""
    sources: str
    characters: str
    more_places: str
    kinds: tuple[str, str, str, str, str]
    """Report, source, entity, relationship and claim."""
    comma: str
    pair: str
    """Between the last two of several."""
    others: str
    """After some of many."""
    on: str
    """Who speaks, on what."""
    this: str
    """What is spoken of, where it has no name."""
    unnamed: str
    links: str
    mentions: str
    no_more: str
    """In place of a name, where there is none."""
    rating: str
    """Relationships, entities, how often they are stated, and `rating_parts`."""
    rating_parts: str
    told_of: str
    """The question of what is told of a name."""
    crossed: str
    """A question with a name that it is crossed with."""
    quote: str = '{}: "{}"'
    """Who says what."""
    label: str = "{}: {}"
    """What is named, and its name."""
    within: str = ", "
    """Between a document and a place in it."""
    apart: str = "; "
    """Between one of several and the next."""

    def kind(self, name: str) -> str:
        """Return what a kind of row is called, given by its English name."""
        return dict(zip(WORDINGS["en"].kinds, self.kinds, strict=True)).get(name, name)

    def where(self, document: str, place: str, start: int, end: int) -> str:
        """Return where something stands: a document, a page or section of it, and the characters."""
        return self.within.join(filter(None, (document, place, self.characters.format(start, end))))

    def listed(self, names: Sequence[str]) -> str:
        """Return names as they are told one after the other."""
        return self.comma.join(names[:-1]) + (self.pair if len(names) > 1 else "") + "".join(names[-1:])


WORDINGS = {
    "en": Wording(
        assembled="Assembled from quotations of the sources, without a language model.",
        nothing="Nothing in this corpus speaks to that question.",
        written="An AI wrote this answer; it can err. The citations lead to what it stands on.",
        selected="Read off the graph by matching words with relations, without a language model.",
        unread="It stands on no document: the model was asked for what it knows.",
        crossing="Without a language model, its follow-up questions are the question crossed with names that it led to.",
        spelt="The index has no vectors of its phrases: they were linked, and joined, by the characters they share.",
        sources="Sources",
        characters="characters {}-{}",
        more_places="and {} more (--json lists all)",
        kinds=("report", "source", "entity", "relationship", "claim"),
        comma=", ",
        pair=" and ",
        others=", and {} more",
        on="{} on {}",
        this="this",
        unnamed="Unnamed",
        links="The sources link {}.",
        mentions="The sources mention {}.",
        no_more="nothing more",
        rating="It stands on {} relationships of {} entities, stated {} times{}.",
        rating_parts=", and on {} reports of its parts",
        told_of="What is said of {}?",
        crossed="{} ({})?",
    ),
    "zh": Wording(
        assembled="本回答由原文摘句编排而成，未使用语言模型。",
        nothing="这批文档中没有与该问题相关的内容。",
        written="本回答由人工智能撰写，可能有误；引用编号指向其依据的原文。",
        selected="本回答由问题用词与图中关系匹配得出，未使用语言模型。",
        unread="本回答未依据任何文档，仅凭模型自身的知识。",
        crossing="未使用语言模型：后续问题由原问题与由此找到的名称组合而成。",
        spelt="索引中没有短语的向量：短语按共有的字符相互关联与合并。",
        sources="来源",
        characters="第 {} 至 {} 字",
        more_places="另有 {} 处（--json 可列出全部）",
        kinds=("报告", "原文", "实体", "关系", "声明"),
        comma="、",
        pair="和",
        others="等，另有 {} 项",
        on="{}谈{}",
        this="此事",
        unnamed="未命名",
        links="原文中相互关联的有：{}。",
        mentions="原文提到{}。",
        no_more="的内容仅此而已",
        rating="依据 {1} 个实体之间的 {0} 条关系，共被提及 {2} 次{3}。",
        rating_parts="，并依据其 {} 个下级社区的报告",
        told_of="关于{}说了什么？",
        crossed="{}（{}）？",
        quote="{}：“{}”",
        label="{}：{}",
        within="，",
        apart="；",
    ),
    "de": Wording(
        assembled="Aus Zitaten der Quellen zusammengestellt, ohne Sprachmodell.",
        nothing="In diesen Dokumenten steht nichts zu dieser Frage.",
        written="Diese Antwort hat eine KI geschrieben; sie kann irren. Die Belege führen zu dem, worauf sie sich stützt.",
        selected="Aus dem Graphen abgelesen, indem Wörter mit Beziehungen verglichen wurden, ohne Sprachmodell.",
        unread="Sie stützt sich auf kein Dokument: Das Modell wurde nach seinem Wissen gefragt.",
        crossing="Ohne Sprachmodell sind die Folgefragen die Frage selbst, gekreuzt mit Namen, zu denen sie führte.",
        spelt="Der Index hat keine Vektoren der Wendungen: Sie wurden nach gemeinsamen Zeichen verknüpft und vereint.",
        sources="Quellen",
        characters="Zeichen {}-{}",
        more_places="und {} weitere Stellen (--json nennt alle)",
        kinds=("Bericht", "Quelle", "Entität", "Beziehung", "Behauptung"),
        comma=", ",
        pair=" und ",
        others=" sowie {} weitere",
        on="{} über {}",
        this="dies",
        unnamed="Ohne Namen",
        links="Die Quellen verbinden {}.",
        mentions="Die Quellen erwähnen {}.",
        no_more="sonst nichts",
        rating="Er stützt sich auf {} Beziehungen von {} Entitäten, die {} Mal genannt werden{}.",
        rating_parts=", und auf {} Berichte über Teile",
        told_of="Was wird über {} gesagt?",
        crossed="{} ({})?",
    ),
    "fr": Wording(
        assembled="Assemblé à partir de citations des sources, sans modèle de langue.",
        nothing="Rien dans ces documents ne répond à cette question.",
        written="Cette réponse a été rédigée par une IA ; elle peut se tromper. Les renvois mènent à ce qui la fonde.",
        selected="Lu dans le graphe en rapprochant mots et relations, sans modèle de langue.",
        unread="Elle ne repose sur aucun document : le modèle a répondu de mémoire.",
        crossing="Sans modèle de langue, les questions suivantes croisent la question avec les noms qu'elle a fait trouver.",
        spelt="L'index n'a pas de vecteurs pour ses expressions : elles ont été liées et réunies par leurs caractères communs.",
        sources="Sources",
        characters="caractères {}-{}",
        more_places="et {} autres passages (--json les donne tous)",
        kinds=("rapport", "source", "entité", "relation", "affirmation"),
        comma=", ",
        pair=" et ",
        others=", et {} de plus",
        on="{} à propos de {}",
        this="cela",
        unnamed="Sans nom",
        links="Les sources relient {}.",
        mentions="Les sources mentionnent {}.",
        no_more="rien d'autre",
        rating="Il repose sur {} relations entre {} entités, énoncées {} fois{}.",
        rating_parts=", et sur {} rapports de ses parties",
        told_of="Que dit-on de {} ?",
        crossed="{} ({}) ?",
        label="{} : {}",
    ),
    "es": Wording(
        assembled="Compuesto de citas de las fuentes, sin modelo de lenguaje.",
        nothing="Nada en estos documentos responde a esa pregunta.",
        written="Esta respuesta la escribió una IA y puede contener errores. Las citas llevan a lo que la sustenta.",
        selected="Leído en el grafo comparando palabras y relaciones, sin modelo de lenguaje.",
        unread="No se apoya en ningún documento: se preguntó al modelo lo que sabe.",
        crossing="Sin modelo de lenguaje, las preguntas siguientes cruzan la pregunta con los nombres a los que llevó.",
        spelt="El índice no tiene vectores de sus expresiones: se enlazaron y unieron por los caracteres que comparten.",
        sources="Fuentes",
        characters="caracteres {}-{}",
        more_places="y {} lugares más (--json los muestra todos)",
        kinds=("informe", "fuente", "entidad", "relación", "afirmación"),
        comma=", ",
        pair=" y ",
        others=", y {} más",
        on="{} sobre {}",
        this="esto",
        unnamed="Sin nombre",
        links="Las fuentes relacionan {}.",
        mentions="Las fuentes mencionan {}.",
        no_more="nada más",
        rating="Se apoya en {} relaciones entre {} entidades, mencionadas {} veces{}.",
        rating_parts=", y en {} informes de sus partes",
        told_of="¿Qué se dice de {}?",
        crossed="{} ({})?",
    ),
    "pt": Wording(
        assembled="Composto de citações das fontes, sem modelo de linguagem.",
        nothing="Nada nestes documentos responde a essa pergunta.",
        written="Esta resposta foi escrita por uma IA e pode conter erros. As citações levam ao que a sustenta.",
        selected="Lido no grafo comparando palavras e relações, sem modelo de linguagem.",
        unread="Não se apoia em nenhum documento: perguntou-se ao modelo o que ele sabe.",
        crossing="Sem modelo de linguagem, as perguntas seguintes cruzam a pergunta com os nomes a que ela levou.",
        spelt="O índice não tem vetores das suas expressões: foram ligadas e unidas pelos caracteres que partilham.",
        sources="Fontes",
        characters="caracteres {}-{}",
        more_places="e mais {} passagens (--json mostra todas)",
        kinds=("relatório", "fonte", "entidade", "relação", "afirmação"),
        comma=", ",
        pair=" e ",
        others=", e mais {}",
        on="{} sobre {}",
        this="isto",
        unnamed="Sem nome",
        links="As fontes relacionam {}.",
        mentions="As fontes mencionam {}.",
        no_more="nada mais",
        rating="Apoia-se em {} relações entre {} entidades, mencionadas {} vezes{}.",
        rating_parts=", e em {} relatórios das suas partes",
        told_of="O que se diz de {}?",
        crossed="{} ({})?",
    ),
    "it": Wording(
        assembled="Composto da citazioni delle fonti, senza modello linguistico.",
        nothing="Nulla in questi documenti risponde a questa domanda.",
        written="Questa risposta è stata scritta da un'IA e può contenere errori. Le citazioni portano a ciò su cui si basa.",
        selected="Letto dal grafo confrontando parole e relazioni, senza modello linguistico.",
        unread="Non si basa su alcun documento: al modello è stato chiesto ciò che sa.",
        crossing="Senza modello linguistico, le domande successive incrociano la domanda con i nomi a cui ha portato.",
        spelt="L'indice non ha vettori delle sue espressioni: sono state collegate e unite in base ai caratteri comuni.",
        sources="Fonti",
        characters="caratteri {}-{}",
        more_places="e altri {} passi (--json li elenca tutti)",
        kinds=("rapporto", "fonte", "entità", "relazione", "affermazione"),
        comma=", ",
        pair=" e ",
        others=", e ancora {}",
        on="{} su {}",
        this="questo",
        unnamed="Senza nome",
        links="Le fonti collegano {}.",
        mentions="Le fonti menzionano {}.",
        no_more="nient'altro",
        rating="Si basa su {} relazioni tra {} entità, menzionate {} volte{}.",
        rating_parts=", e su {} rapporti delle sue parti",
        told_of="Che cosa si dice di {}?",
        crossed="{} ({})?",
    ),
    "nl": Wording(
        assembled="Samengesteld uit citaten van de bronnen, zonder taalmodel.",
        nothing="Niets in deze documenten gaat over die vraag.",
        written="Een AI schreef dit antwoord en kan zich vergissen. De verwijzingen leiden naar waarop het berust.",
        selected="Uit de graaf gelezen door woorden met relaties te vergelijken, zonder taalmodel.",
        unread="Het berust op geen document: het model is gevraagd naar wat het weet.",
        crossing="Zonder taalmodel zijn de vervolgvragen de vraag zelf, gekruist met namen waartoe zij leidde.",
        spelt="De index heeft geen vectoren van de uitdrukkingen: ze zijn verbonden en samengevoegd naar gedeelde tekens.",
        sources="Bronnen",
        characters="tekens {}-{}",
        more_places="en nog {} plaatsen (--json noemt ze alle)",
        kinds=("rapport", "bron", "entiteit", "relatie", "bewering"),
        comma=", ",
        pair=" en ",
        others=", en nog {}",
        on="{} over {}",
        this="dit",
        unnamed="Zonder naam",
        links="De bronnen verbinden {}.",
        mentions="De bronnen noemen {}.",
        no_more="verder niets",
        rating="Het berust op {} relaties van {} entiteiten, die {} keer worden genoemd{}.",
        rating_parts=", en op {} rapporten van delen",
        told_of="Wat wordt er over {} gezegd?",
        crossed="{} ({})?",
    ),
    "ru": Wording(
        assembled="Составлено из цитат источников, без языковой модели.",
        nothing="В этих документах нет ничего по этому вопросу.",
        written="Этот ответ написан ИИ и может содержать ошибки. Ссылки ведут к тому, на чём он основан.",
        selected="Прочитано по графу сопоставлением слов и отношений, без языковой модели.",
        unread="Ответ не опирается ни на один документ: модель ответила то, что знает.",
        crossing="Без языковой модели уточняющие вопросы — это сам вопрос вместе с именами, к которым он привёл.",
        spelt="В индексе нет векторов выражений: они связаны и объединены по общим знакам.",
        sources="Источники",
        characters="знаки {}-{}",
        more_places="и ещё мест: {} (--json показывает все)",
        kinds=("отчёт", "источник", "сущность", "отношение", "утверждение"),
        comma=", ",
        pair=" и ",
        others=" и ещё {}",
        on="{} — о теме: {}",
        this="об этом",
        unnamed="Без названия",
        links="Источники связывают: {}.",
        mentions="В источниках упоминается: {}.",
        no_more="больше ничего",
        rating="Основано на отношениях: {}, сущностях: {}; упоминаний: {}{}.",
        rating_parts=", и на отчётах о частях: {}",
        told_of="Что говорится о «{}»?",
        crossed="{} ({})?",
    ),
    "ja": Wording(
        assembled="出典からの引用で構成しました。言語モデルは使っていません。",
        nothing="この文書群には、その質問に関する記述がありません。",
        written="この回答は AI が作成したもので、誤りを含むことがあります。引用番号は根拠となる箇所を示します。",
        selected="質問の語とグラフの関係を照合して得ました。言語モデルは使っていません。",
        unread="どの文書にも基づいていません。モデル自身の知識による回答です。",
        crossing="言語モデルを使わず、元の質問と見つかった名称を組み合わせて追加の質問としました。",
        spelt="索引に語句のベクトルがないため、共通の文字によって関連付け、まとめました。",
        sources="出典",
        characters="{}～{} 文字目",
        more_places="ほか {} 箇所（--json で全件表示）",
        kinds=("レポート", "出典", "エンティティ", "関係", "主張"),
        comma="、",
        pair="、",
        others="、ほか {} 件",
        on="{}：{}について",
        this="この件",
        unnamed="無題",
        links="出典で結び付けられているもの：{}。",
        mentions="出典で言及されているもの：{}。",
        no_more="なし",
        rating="{1} 個のエンティティの間の {0} 件の関係に基づき、言及は {2} 回{3}。",
        rating_parts="、下位コミュニティのレポート {} 件にも基づく",
        told_of="{}について何が述べられていますか？",
        crossed="{}（{}）？",
        quote="{}：“{}”",
        label="{}：{}",
        within="、",
        apart="、",
    ),
    "ko": Wording(
        assembled="언어 모델 없이 출처의 인용문으로 구성했습니다.",
        nothing="이 문서들에는 그 질문에 관한 내용이 없습니다.",
        written="이 답변은 AI가 작성했으며 틀릴 수 있습니다. 인용 번호는 근거가 되는 곳을 가리킵니다.",
        selected="언어 모델 없이 질문의 낱말과 그래프의 관계를 맞추어 얻었습니다.",
        unread="어떤 문서에도 근거하지 않으며, 모델이 아는 바를 물은 것입니다.",
        crossing="언어 모델 없이, 후속 질문은 원래 질문에 찾아낸 이름을 더한 것입니다.",
        spelt="색인에 어구 벡터가 없어, 공통된 글자로 잇고 합쳤습니다.",
        sources="출처",
        characters="{}-{}번째 글자",
        more_places="그 밖에 {}곳 (--json으로 모두 표시)",
        kinds=("보고서", "출처", "개체", "관계", "주장"),
        comma=", ",
        pair=", ",
        others=" 외 {}건",
        on="{}: {}에 관하여",
        this="이 일",
        unnamed="이름 없음",
        links="출처에서 서로 이어지는 것: {}.",
        mentions="출처에서 언급된 것: {}.",
        no_more="없음",
        rating="개체 {1}개 사이의 관계 {0}건에 근거하며, {2}번 언급됩니다{3}.",
        rating_parts="(하위 보고서 {}건 포함)",
        told_of="{}에 관해 무엇이 언급되었습니까?",
        crossed="{} ({})?",
    ),
    "ar": Wording(
        assembled="جُمعت هذه الإجابة من اقتباسات المصادر دون نموذج لغوي.",
        nothing="لا يوجد في هذه الوثائق ما يتعلق بهذا السؤال.",
        written="كتب هذه الإجابة نموذج ذكاء اصطناعي وقد يخطئ؛ وتقود الإحالات إلى ما تستند إليه.",
        selected="قُرئت هذه الإجابة من الرسم البياني بمطابقة الكلمات والعلاقات دون نموذج لغوي.",
        unread="لا تستند هذه الإجابة إلى أي وثيقة، بل إلى ما يعرفه النموذج.",
        crossing="دون نموذج لغوي، تجمع الأسئلة اللاحقة بين السؤال والأسماء التي قاد إليها.",
        spelt="لا يحوي الفهرس متجهات لعباراته، فرُبطت ودُمجت بحسب الحروف المشتركة.",
        sources="المصادر",
        characters="الأحرف {}-{}",
        more_places="و{} مواضع أخرى (تُعرض كلها مع --json)",
        kinds=("تقرير", "مصدر", "كيان", "علاقة", "ادعاء"),
        comma="، ",
        pair=" و",
        others="، و{} غيرها",
        on="{} عن {}",
        this="ذلك",
        unnamed="بلا اسم",
        links="تربط المصادر بين {}.",
        mentions="تذكر المصادر {}.",
        no_more="لا شيء آخر",
        rating="يستند إلى علاقات عددها {} بين كيانات عددها {}، ذُكرت {} مرة{}.",
        rating_parts="، وإلى تقارير أجزائه وعددها {}",
        told_of="ماذا قيل عن {}؟",
        crossed="{} ({})؟",
        within="، ",
        apart="؛ ",
    ),
    "tr": Wording(
        assembled="Kaynaklardan alıntılarla, dil modeli kullanılmadan derlendi.",
        nothing="Bu belgelerde bu soruyla ilgili bir şey yok.",
        written="Bu yanıtı bir yapay zekâ yazdı; yanılabilir. Atıflar dayandığı yerlere götürür.",
        selected="Sözcükler ilişkilerle karşılaştırılarak, dil modeli olmadan çizgeden okundu.",
        unread="Hiçbir belgeye dayanmaz: modele bildiği soruldu.",
        crossing="Dil modeli olmadan, sonraki sorular sorunun götürdüğü adlarla birleştirilmesidir.",
        spelt="Dizinde ifadelerin vektörleri yok: ortak harflerine göre bağlandı ve birleştirildiler.",
        sources="Kaynaklar",
        characters="karakter {}-{}",
        more_places="ve {} yer daha (--json tümünü gösterir)",
        kinds=("rapor", "kaynak", "varlık", "ilişki", "iddia"),
        comma=", ",
        pair=" ve ",
        others=" ve {} diğeri",
        on="{}: {} üzerine",
        this="bu konu",
        unnamed="Adsız",
        links="Kaynakların birbirine bağladıkları: {}.",
        mentions="Kaynaklarda geçen: {}.",
        no_more="başka bir şey yok",
        rating="{1} varlık arasındaki {0} ilişkiye dayanır; bunlar {2} kez geçer{3}.",
        rating_parts=", ayrıca alt toplulukların {} raporuna",
        told_of="{} hakkında ne söyleniyor?",
        crossed="{} ({})?",
    ),
    "pl": Wording(
        assembled="Złożone z cytatów ze źródeł, bez modelu językowego.",
        nothing="W tych dokumentach nie ma nic na temat tego pytania.",
        written="Tę odpowiedź napisała sztuczna inteligencja; może się mylić. Przypisy prowadzą do jej podstaw.",
        selected="Odczytane z grafu przez porównanie słów z relacjami, bez modelu językowego.",
        unread="Nie opiera się na żadnym dokumencie: zapytano model o to, co wie.",
        crossing="Bez modelu językowego kolejne pytania to samo pytanie połączone z nazwami, do których doprowadziło.",
        spelt="Indeks nie ma wektorów wyrażeń: połączono je według wspólnych znaków.",
        sources="Źródła",
        characters="znaki {}-{}",
        more_places="i więcej miejsc: {} (--json pokazuje wszystkie)",
        kinds=("raport", "źródło", "encja", "relacja", "twierdzenie"),
        comma=", ",
        pair=" i ",
        others=" i więcej: {}",
        on="{} na temat: {}",
        this="to",
        unnamed="Bez nazwy",
        links="Źródła łączą: {}.",
        mentions="Źródła wspominają: {}.",
        no_more="nic więcej",
        rating="Podstawa: relacje ({}) między encjami ({}), wspomniane razy: {}{}.",
        rating_parts=", oraz raporty o częściach ({})",
        told_of="Co się mówi o: {}?",
        crossed="{} ({})?",
    ),
    "el": Wording(
        assembled="Συντέθηκε από παραθέσεις των πηγών, χωρίς γλωσσικό μοντέλο.",
        nothing="Τίποτα σε αυτά τα έγγραφα δεν αφορά αυτή την ερώτηση.",
        written="Αυτή την απάντηση την έγραψε τεχνητή νοημοσύνη και μπορεί να σφάλλει. Οι παραπομπές οδηγούν στη βάση της.",
        selected="Διαβάστηκε από τον γράφο με σύγκριση λέξεων και σχέσεων, χωρίς γλωσσικό μοντέλο.",
        unread="Δεν στηρίζεται σε κανένα έγγραφο: το μοντέλο ρωτήθηκε για όσα γνωρίζει.",
        crossing="Χωρίς γλωσσικό μοντέλο, οι επόμενες ερωτήσεις είναι η ίδια η ερώτηση μαζί με τα ονόματα στα οποία οδήγησε.",
        spelt="Το ευρετήριο δεν έχει διανύσματα φράσεων: συνδέθηκαν σύμφωνα με τους κοινούς χαρακτήρες τους.",
        sources="Πηγές",
        characters="χαρακτήρες {}-{}",
        more_places="και άλλα {} σημεία (--json τα δείχνει όλα)",
        kinds=("αναφορά", "πηγή", "οντότητα", "σχέση", "ισχυρισμός"),
        comma=", ",
        pair=" και ",
        others=", και άλλα {}",
        on="{} για: {}",
        this="αυτό",
        unnamed="Χωρίς όνομα",
        links="Οι πηγές συνδέουν: {}.",
        mentions="Οι πηγές αναφέρουν: {}.",
        no_more="τίποτε άλλο",
        rating="Στηρίζεται σε {} σχέσεις μεταξύ {} οντοτήτων, που αναφέρονται {} φορές{}.",
        rating_parts=", και σε {} αναφορές των μερών της",
        told_of="Τι λέγεται για: {};",
        crossed="{} ({});",
    ),
    "he": Wording(
        assembled="הורכב מציטוטים של המקורות, ללא מודל שפה.",
        nothing="אין במסמכים אלה דבר הנוגע לשאלה זו.",
        written="תשובה זו נכתבה בידי בינה מלאכותית ועלולה לטעות; ההפניות מובילות למה שהיא נשענת עליו.",
        selected="נקרא מן הגרף בהשוואת מילים ליחסים, ללא מודל שפה.",
        unread="אינה נשענת על שום מסמך: המודל נשאל על מה שהוא יודע.",
        crossing="ללא מודל שפה, שאלות ההמשך הן השאלה עצמה עם השמות שאליהם הובילה.",
        spelt="אין במפתח וקטורים של ביטויים: הם קושרו ואוחדו לפי תווים משותפים.",
        sources="מקורות",
        characters="תווים {}-{}",
        more_places="ועוד {} מקומות (--json מציג את כולם)",
        kinds=("דוח", "מקור", "ישות", "קשר", "טענה"),
        comma=", ",
        pair=" ו-",
        others=", ועוד {}",
        on="{} על {}",
        this="זה",
        unnamed="ללא שם",
        links="המקורות קושרים בין {}.",
        mentions="המקורות מזכירים את {}.",
        no_more="דבר נוסף",
        rating="נשען על {} קשרים בין {} ישויות, המוזכרים {} פעמים{}.",
        rating_parts=", ועל {} דוחות על חלקיו",
        told_of="מה נאמר על {}?",
        crossed="{} ({})?",
    ),
    "hi": Wording(
        assembled="स्रोतों के उद्धरणों से संकलित, किसी भाषा मॉडल के बिना।",
        nothing="इन दस्तावेज़ों में इस प्रश्न से संबंधित कुछ नहीं है।",
        written="यह उत्तर कृत्रिम बुद्धि ने लिखा है; इसमें भूल हो सकती है। संदर्भ इसके आधार तक ले जाते हैं।",
        selected="शब्दों और संबंधों की तुलना से ग्राफ़ से पढ़ा गया, किसी भाषा मॉडल के बिना।",
        unread="यह किसी दस्तावेज़ पर आधारित नहीं है: मॉडल से वही पूछा गया जो वह जानता है।",
        crossing="भाषा मॉडल के बिना, आगे के प्रश्न मूल प्रश्न और उससे मिले नामों को जोड़कर बने हैं।",
        spelt="सूचकांक में पदों के सदिश नहीं हैं: वे साझा वर्णों के अनुसार जोड़े गए।",
        sources="स्रोत",
        characters="वर्ण {}-{}",
        more_places="और {} स्थान (--json सभी दिखाता है)",
        kinds=("रिपोर्ट", "स्रोत", "इकाई", "संबंध", "दावा"),
        comma=", ",
        pair=" और ",
        others=", और {} अन्य",
        on="{}: {} के बारे में",
        this="यह",
        unnamed="बिना नाम",
        links="स्रोत इन्हें आपस में जोड़ते हैं: {}।",
        mentions="स्रोतों में उल्लेख: {}।",
        no_more="और कुछ नहीं",
        rating="{1} इकाइयों के बीच {0} संबंधों पर आधारित, जिनका उल्लेख {2} बार है{3}।",
        rating_parts=", और भागों की {} रिपोर्टों पर",
        told_of="{} के बारे में क्या कहा गया है?",
        crossed="{} ({})?",
    ),
}
_PLAIN = replace(
    WORDINGS["en"], pair=", ", others=", … (+{})", on="{}: {}", this="…", links="({}.)", mentions="({}.)", no_more="…"
)
"""English, but in lines that hold words of the sources, which has signs alone there: no line is in two languages."""


@cache
def wording(language: str) -> Wording:
    """Return the fixed words of a language, given by its code; English ones where there are none."""
    return WORDINGS.get(language.partition("-")[0].lower(), _PLAIN)


@cache
def _nothings() -> frozenset[str]:
    return frozenset(words.nothing for words in WORDINGS.values())


def says_nothing(answer: str) -> bool:
    """Tell whether an answer says that nothing was found."""
    return answer.strip() in _nothings()
