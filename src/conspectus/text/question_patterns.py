"""How other languages than English and Chinese ask: for the whole, for a kind of thing, to be told of something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from conspectus.text.words import stem


@dataclass(frozen=True)
class QuestionPatterns:
    """Patterns of one language, in lower case, and the words that its questions are built with."""

    whole: str = "(?!)"
    number: str = "(?!)"
    date: str = "(?!)"
    person: str = "(?!)"
    place: str = "(?!)"
    thing: str = "(?!)"
    """To be told of something, or why it is so."""
    scaffolding: str = ""

    def wants(self, text: str) -> str:
        """Return what kind of thing would answer a question, "" where it does not say."""
        kinds = (("number", self.number), ("date", self.date), ("person", self.person), ("place", self.place))
        return next((kind for kind, pattern in kinds if found(pattern, text)), "")


_ASKING = {
    "de": QuestionPatterns(
        whole=r"haupt(?:themen|aussage|thema)|wichtigsten? them|zentralen? them|zusammenfass|überblick|insgesamt|worum geht",
        number=r"\bwie ?viele?\b|\bwie (?:hoch|groß|lang|weit|tief|alt|oft|schnell|schwer|teuer)\b",
        date=r"\bwann\b|\b(?:welche[mns]?|in welchem) (?:jahr|tag|monat|datum)\b",
        person=r"\bwe(?:r|n|m|ssen)\b",
        place=r"\bwo(?:hin|her)?\b",
        thing=r"^(?:wer|was) (?:ist|sind|war|waren)\b|\bwarum\b|\bwieso\b|\bweshalb\b|erkläre|beschreibe|erzähl|vorstell",
        scaffolding="thema themen hauptthema hauptthemen dokument dokumente text texte frage fragen welche welcher wichtig "
        "wichtigste wichtigsten zusammenfassung überblick erklären beschreiben nennen geben aussage aussagen wer was wann "
        "wo warum wie erwähnt erwähnen besprochen behandelt behandeln sagen gesagt",
    ),
    "fr": QuestionPatterns(
        whole=r"(?:principa(?:l|le|les|ux)|grands?) (?:thèmes?|sujets?|idées?)|thèmes? (?:principa|centra)|résum|vue d'ensemble|"
        r"dans l'ensemble|de quoi (?:parl|trait)",
        number=r"\bcombien\b",
        date=r"\bquand\b|\b(?:quelle?) (?:année|date|jour|mois)\b",
        person=r"(?<!ce )\bqui\b",
        place=r"\boù\b",
        thing=r"^qu(?:i|'est-ce que c'?) (?:est|était|sont)|\bpourquoi\b|expliqu|décri|parle[zr]?-moi|présente",
        scaffolding="thème thèmes sujet sujets document documents texte textes question quel quelle quels quelles principal "
        "principaux principale principales résumé résumer décrire expliquer donner dire dit mentionné abordé aborder traiter "
        "qui quoi quand pourquoi comment combien",
    ),
    "es": QuestionPatterns(
        whole=r"(?:principales|grandes) (?:temas|ideas|asuntos)|temas? (?:principal|central)|resum|visión general|en conjunto|"
        r"de qué (?:trata|habla)",
        number=r"\bcuánt[oa]s?\b",
        date=r"\bcuándo\b|\bqué (?:año|día|mes|fecha)\b",
        person=r"\bquién(?:es)?\b",
        place=r"\b(?:a|de)?dónde\b",
        thing=r"¿?(?:quién|qué) (?:es|era|fue|son)\b|\bpor qué\b|explica|describe|háblame|cuéntame",
        scaffolding="tema temas asunto documento documentos texto textos pregunta cuál cuáles principal principales resumen "
        "resumir describir explicar dar decir dice mencionan mencionado tratan trata quién qué cuándo dónde cómo cuánto",
    ),
    "pt": QuestionPatterns(
        whole=r"principais (?:temas|ideias|assuntos)|temas? (?:principa|centra)|resum|visão geral|no conjunto|"
        r"de que (?:trata|fala)|sobre o que",
        number=r"\bquant[oa]s?\b",
        date=r"\bquando\b|\bque (?:ano|dia|mês|data)\b",
        person=r"\bquem\b",
        place=r"\b(?:a|d)?onde\b",
        thing=r"(?:quem|o que) (?:é|era|foi|são)\b|\bpor que\b|\bporquê\b|expli(?:ca|que)|descrev|fale",
        scaffolding="tema temas assunto assuntos documento documentos texto textos pergunta qual quais principal principais "
        "resumo resumir descrever explicar dar dizer diz mencionam mencionado tratam trata quem que quando onde como quanto",
    ),
    "it": QuestionPatterns(
        whole=r"(?:principali|grandi) (?:temi|idee|argomenti)|tem[ai] (?:principal|central)|riassu|panoramica|nel complesso|"
        r"di (?:che cosa|cosa) (?:tratta|parla)",
        number=r"\bquant[oaie]\b",
        date=r"\bquando\b|\b(?:in )?che (?:anno|giorno|mese|data)\b",
        person=r"\bchi\b",
        place=r"\bdov(?:e\b|'è)",
        thing=r"(?:chi|(?:che )?cosa|cos') ?(?:è|era|fu|sono)\b|\bperché\b|spiega|descrivi|parlami",
        scaffolding="tema temi argomento argomenti documento documenti testo testi domanda quale quali principale principali "
        "riassunto riassumere descrivere spiegare dare dire dice menzionano menzionato trattano tratta chi cosa quando dove",
    ),
    "nl": QuestionPatterns(
        whole=r"hoofdthema|belangrijkste (?:thema|onderwerp)|samenvat|overzicht|in het geheel|waar gaan",
        number=r"\bhoeveel\b|\bhoe (?:hoog|groot|lang|ver|diep|oud|vaak|snel|zwaar|duur)\b",
        date=r"\bwanneer\b|\bwelk(?:e)? (?:jaar|dag|maand|datum)\b",
        person=r"\bwie\b",
        place=r"\bwaar\b(?! gaa)",
        thing=r"^(?:wie|wat) (?:is|zijn|was|waren)\b|\bwaarom\b|leg uit|beschrijf|vertel",
        scaffolding="thema themas onderwerp onderwerpen document documenten tekst teksten vraag welke belangrijkste samenvatting "
        "beschrijven uitleggen geven zeggen gezegd genoemd behandeld wie wat wanneer waar waarom hoe hoeveel",
    ),
    "ru": QuestionPatterns(
        whole=r"(?:основны|главны|ключевы)\w* (?:тем|иде|мысл)|обзор|в целом|кратко изложи|резюм|о ч[её]м (?:эти|идёт|говор)",
        number=r"\bсколько\b|\bкак(?:ой|ова) (?:высот|длин|площад|глубин|возраст|числен)",
        date=r"\bкогда\b|\bв как(?:ом|ой) (?:году|день|месяц)",
        person=r"\b(?:кто|кого|кому|кем)\b",
        place=r"\b(?:где|куда|откуда)\b",
        thing=r"^(?:кто|что) (?:такой|такая|такие|такое)|\bпочему\b|\bзачем\b|расскажи|опиши|объясни",
        scaffolding="тема темы тем документ документы документов документах текст тексты вопрос какой какая какие каких основной "
        "основные главный главные обзор описать объяснить рассказать говорится упоминается кто что когда где почему как",
    ),
    "ja": QuestionPatterns(
        whole=r"(?:主な|主要な|中心的な)?(?:テーマ|話題|論点)|要約|概要|全体",
        number=r"いくつ|いくら|何(?:人|個|本|回|年間|メートル|キロ)|どのくらい",
        date=r"いつ|何年|何月|何日",
        person=r"誰|だれ|どなた",
        place=r"どこ",
        thing=r"とは(?:何|誰|どんな)|なぜ|どうして|説明|紹介|について(?:教えて|述べて)",
    ),
    "ko": QuestionPatterns(
        whole=r"(?:주요|핵심|중심) (?:주제|내용|논점)|요약|개요|전체적",
        number=r"몇|얼마",
        date=r"언제|몇 ?년|몇 ?월|며칠",
        person=r"누구|누가",
        place=r"어디",
        thing=r"(?:은|는|이란|란) (?:무엇|누구)|왜|설명|소개|에 대해",
        scaffolding="주제 문서 글 질문 무엇 무엇입니까 주요 요약 설명 누구 누가 언제 어디 왜 어떻게",
    ),
    "ar": QuestionPatterns(
        whole=r"(?:المواضيع|الموضوعات|الأفكار|المحاور) (?:الرئيسية|الأساسية)|ملخص|لخص|نظرة عامة|بشكل عام|عم تتحدث",
        number=r"\bكم\b",
        date=r"\bمتى\b|في أي (?:عام|سنة|يوم|شهر)",
        person=r"^من\b(?! أين)|\bمن (?:هو|هي|الذي|التي|أسس|قال)\b",
        place=r"\bأين\b",
        thing=r"^(?:من|ما) (?:هو|هي|هم)\b|\bلماذا\b|اشرح|صف|حدثني",
        scaffolding="موضوع مواضيع الموضوعات المواضيع الرئيسية وثيقة وثائق الوثائق نص نصوص النصوص سؤال ما من متى أين كيف لماذا "
        "ملخص لخص اشرح صف هذه",
    ),
    "tr": QuestionPatterns(
        whole=r"ana (?:konu|tema|fikir)|temel (?:konu|tema)|özet|genel bakış|genel olarak",
        number=r"\bkaç\b|\bne kadar\b",
        date=r"\bne zaman\b|\bhangi (?:yıl|gün|ay|tarih)",
        person=r"\bkim(?:e|i|in|den|le|ler)?\b",
        place=r"\bnere(?:de|ye|den|si)\b",
        thing=r"\b(?:kimdir|nedir)\b|\bneden\b|\bniçin\b|açıkla|anlat|tanıt",
        scaffolding="konu konular tema temalar ana belge belgeler metin metinler soru hangi nedir nelerdir kim ne zaman nerede "
        "neden nasıl kaç özet özetle anlat açıkla",
    ),
    "pl": QuestionPatterns(
        whole=r"główn\w+ (?:temat|wątk|myśl|ide)|najważniejsz\w+ temat|podsumuj|streść|streszczenie|przegląd|ogólnie|o czym (?:są|mówi)",
        number=r"\bile\b|\bilu\b",
        date=r"\bkiedy\b|\bw którym (?:roku|dniu|miesiącu)\b",
        person=r"\b(?:kto|kogo|komu|kim)\b",
        place=r"\b(?:gdzie|dokąd|skąd)\b",
        thing=r"^(?:kim|czym|kto|co) (?:to )?(?:jest|był|była|było|są)\b|\bdlaczego\b|wyjaśnij|opisz|opowiedz",
        scaffolding="temat tematy tematów główny główne głównych dokument dokumenty dokumentów tekst teksty pytanie jaki jaka jakie "
        "jakich podsumowanie opisać wyjaśnić powiedzieć kto co kiedy gdzie dlaczego jak ile",
    ),
    "he": QuestionPatterns(
        whole=r"(?:הנושאים|הרעיונות) (?:העיקריים|המרכזיים|המרכזים)|סכם|סיכום|סקירה|באופן כללי",
        number=r"כמה",
        date=r"מתי|באיזו שנה|באיזה (?:יום|חודש)",
        person=r"(?:^|\s)מי(?:\s|$)",
        place=r"איפה|היכן|לאן|מאין",
        thing=r"^(?:מי|מה) (?:הוא|היא|היה|הייתה)|מדוע|למה|הסבר|תאר|ספר לי",
        scaffolding="נושא נושאים הנושאים העיקריים המרכזיים מסמך מסמכים המסמכים טקסט שאלה מהם מהן מהו מהי מי מה מתי איפה היכן "
        "מדוע למה איך כמה סיכום סכם",
    ),
    "hi": QuestionPatterns(
        whole=r"(?:मुख्य|प्रमुख) (?:विषय|विचार|बातें)|सारांश|संक्षेप|कुल मिलाकर",
        number=r"कितन[ाेी]",
        date=r"(?:^|\s)कब(?:\s|$)|किस (?:वर्ष|साल|दिन|महीने)",
        person=r"कौन|किसने|किसे|किसका|किसकी",
        place=r"कहाँ|कहां|किधर",
        thing=r"(?:कौन|क्या) (?:है|हैं|था|थी|थे)|क्यों|समझा|वर्णन|बता",
        scaffolding="विषय विषयों मुख्य प्रमुख दस्तावेज़ दस्तावेज दस्तावेज़ों पाठ प्रश्न कौन किसने क्या कब कहाँ क्यों कैसे कितना कितने "
        "सारांश बताइए",
    ),
    "el": QuestionPatterns(
        whole=r"κύρια θέματα|βασικά θέματα|κεντρικ\w+ θέμα|σύνοψη|επισκόπηση|συνολικά",
        number=r"\bπόσ(?:ο|α|οι|ες|ους)\b",
        date=r"\bπότε\b",
        person=r"\bποι(?:ος|α|οι|ες|ον|ους)\b",
        place=r"\bπού\b",
        thing=r"\bγιατί\b|(?:ποιος|ποια|τι) (?:είναι|ήταν)|εξήγησε|περίγραψε",
        scaffolding="θέμα θέματα κύρια βασικά έγγραφο έγγραφα κείμενο κείμενα ερώτηση ποιος ποια ποιο τι πότε πού γιατί πώς",
    ),
}  # fmt: skip
_ASKS = re.compile(r"[?？؟;]\s*$")


@cache
def patterns_of(language: str) -> QuestionPatterns:
    """Return how a language asks, nothing where that is not known."""
    return _ASKING.get(language, QuestionPatterns())


@cache
def question_stopwords(language: str) -> frozenset[str]:
    """Return the stems of the words that questions of a language are built with."""
    return frozenset(stem(word, language) for word in patterns_of(language).scaffolding.split())


def found(pattern: str, text: str) -> bool:
    """Tell whether a pattern of `Asking` is in a text."""
    return bool(re.search(pattern, text, re.IGNORECASE))


def asks(text: str) -> bool:
    """Tell whether a text closes with a question mark of any script."""
    return bool(_ASKS.search(text))
