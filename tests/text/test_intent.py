"""The intent of questions, by their words and form; all are made up, in English and Chinese."""

from __future__ import annotations

import pytest

from conspectus.text.question import read_question

ABOUT_ALL = """
What are the main themes of these documents?
Summarise the corpus.
Give me an overview of what is in here.
What is this collection about?
What do residents say about the harbour?
Which concerns come up again and again?
How do the speakers feel about the new road?
What recurring arguments are made against the plan?
Are there disagreements about who should pay?
How often is money mentioned as an obstacle?
What patterns are there in the complaints?
Which experts warn of rising costs?
How did opinions on the ferry change over the years?
What trends can be seen across the interviews?
Do any of the authors doubt the figures?
What are the most common reasons given for leaving?
In general, what worries people most?
What lessons are drawn from failures?
How is trust described by the guests?
Which topics are discussed most?
What opinions are expressed about tourism?
Is safety presented as a technical or a human problem?
What differences are there between the older and the younger speakers?
What is the overall mood of the letters?
这些文档的主要主题是什么？
请概括全部资料的内容。
总结一下这些访谈。
人们对新桥普遍有什么看法？
专家们如何看待水价上涨？
哪些受访者提到了污染？
嘉宾们在教育问题上有哪些分歧？
大家普遍担心什么？
这批文章讲了什么？
居民们对搬迁的态度有哪些不同？
有哪些反复出现的话题？
What do the documents as a whole tell about flooding?
How do the interviewees describe their first years?
Which arguments do opponents of the scheme share?
Where do the authors disagree?
Sum up the discussion of housing.
What is this guide about?
What do these letters talk about?
What are people's hopes for the project?
Identify the key topics.
How has the tone of the reporting shifted?
请归纳各方对规划的意见。
受访者对未来普遍持什么态度？
这些报道反映了哪些共同问题？
资料中有哪些主要议题？
""".strip().splitlines()
OF_A_THING = """
Who is Mara Tolan?
Who was Zorba Orrin?
Tell me about Mara Tolan.
Describe Quill Hall.
What is Quill Hall?
What happened to Quill Hall?
Why did Mara Tolan leave Quenda?
How did Zorba Orrin lose his boat?
What does Mara Tolan do?
What do we know about Zorba Orrin?
How is Mara Tolan connected to Zorba Orrin?
What is the relationship between Mara Tolan and Quill Hall?
What has Mara Tolan to do with the weir?
Explain the role of Zorba Orrin.
Mara Tolan
王丽是谁？
介绍一下王丽。
永和米行是怎么回事？
王丽为什么离开南京？
王丽和永和米行有什么关系？
说说王丽的经历。
王丽
What can you tell me about Zorba Orrin?
What role did Mara Tolan play?
Why was Quill Hall closed?
How did Mara Tolan and Zorba Orrin fall out?
Is there a link between Mara Tolan and Quill Hall?
What became of Zorba Orrin?
李强是什么样的人？
谈谈南京。
王丽和李强之间有什么联系？
""".strip().splitlines()
JOINING = """
Where was the designer of Quill Hall born?
Who is the mother of the builder of Quill Hall?
When did the founder of Quill Hall die?
What is the hometown of the man who designed the weir of Quenda?
Which is older, Quill Hall or Tolan Tower?
Who was born first, Mara Tolan or Zorba Orrin?
Did Mara Tolan and Zorba Orrin go to the same school?
Are Quill Hall and Tolan Tower both in Quenda?
What is the name of the ship built by Mara Tolan's brother?
Which school did Zorba Orrin's wife attend?
Who employs the engineer who found the crack in the weir?
What year was the company that owns Quill Hall founded?
Where does the river that flows past Quenda end?
Who married the sister of Zorba Orrin?
In which town is the museum that keeps the chart by Mara Tolan?
Which of the two bridges is longer?
What is the population of the town where Mara Tolan was born?
Who wrote the song sung at the opening of Quill Hall?
What prize did the author of The Tide Book win?
Is the owner of Quill Hall a member of the council led by Zorba Orrin?
王丽的丈夫的父亲是谁？
永和米行的创始人毕业于哪所大学的哪个系？
王丽和李强谁更年长？
南京和苏州哪个城市人口更多？
《春潮》的作者的妻子是哪里人？
王丽与李强都是南京人吗？
设计永和大厦的建筑师的母校在哪里？
《春潮》和《秋水》哪一部更早出版？
In what year was the architect of Quill Hall knighted?
Who founded the firm that repaired Quill Hall?
Which came first, the opening of Quill Hall or the death of Mara Tolan?
Whose daughter bought the boat Zorba Orrin had built?
What language is spoken in the country where Mara Tolan grew up?
Do Mara Tolan and Zorba Orrin have the same profession?
How old was the chairman of the Quenda council when he resigned?
Who succeeded the mayor who opened the bridge?
Of the two lighthouses, which one is taller?
李强的母亲的故乡在哪里？
王丽比李强大几岁？
写《秋水》的作家的老师是谁？
""".strip().splitlines()
LOOKUPS = """
Why does Mars seem to move backwards across the sky?
When was Quill Hall built?
How many turbines stand in the strait?
Who paid for the wheel?
What did the roof cost?
On what date did the branch line close?
How long is the tunnel?
Where is the annual fair held?
What colour is the lifeboat?
Which company made the gearbox?
Who chaired the meeting in May 2021?
How much money did the council lend?
What is the phone number of the harbour office?
Was the ferry running in 1974?
Name the treasurer.
What percentage voted against?
Who painted the ceiling?
At what time does the museum open?
What was the price of crab in 1998?
大桥是哪一年建成的？
塔有多高？
会议在哪里召开？
谁支付了修缮费用？
这种鱼以什么为食？
博物馆几点开门？
全长多少公里？
该剧由谁主演？
首任校长是谁？
水库的容量有多大？
When does the tide turn at the quay?
How wide is the lock?
Who sold the land?
What is the speed limit on the bridge?
Which ferry sank?
What was the vote?
In which year did the school close?
Where are the archives kept?
Did the council approve the grant?
What does this guide say about ferries?
Why do limes flower in long winters?
How can ferries help farmers in Quenda?
灯塔建于何时？
船上有多少名乘客？
哪家公司承建了隧道？
桥的总长度是多少？
""".strip().splitlines()


@pytest.mark.parametrize("question", ABOUT_ALL)
def test_what_asks_for_the_whole_or_for_what_many_say(question: str):
    assert read_question(question).about_whole or read_question(question).about_many


@pytest.mark.parametrize("question", OF_A_THING)
def test_what_asks_to_be_told_of_a_thing(question: str):
    asked = read_question(question)

    assert not asked.about_whole
    assert asked.asks_description or asked.asks_relation or not asked.asks_fact


@pytest.mark.parametrize("question", JOINING)
def test_what_takes_two_facts(question: str):
    assert read_question(question).joins_facts
    assert not read_question(question).about_whole


@pytest.mark.parametrize("question", LOOKUPS)
def test_what_takes_one_fact(question: str):
    asked = read_question(question)

    assert not asked.about_whole
    assert not asked.about_many
    assert asked.asks_fact or not asked.asks_description


def test_few_lookups_are_taken_to_join_facts():
    assert sum(read_question(question).joins_facts for question in LOOKUPS) <= 2


def test_a_work_that_is_named_in_its_marks_is_not_the_whole():
    assert read_question("主要内容是什么？").about_whole
    assert not read_question("《春潮》的主要内容是什么？").about_whole


@pytest.mark.parametrize(
    ("question", "answer", "beside"),
    [
        ("Why did the mill burn down?", "A spark caused the fire.", "The mill burned in May."),
        ("How is weir rot diagnosed?", "A test of the oak shows it.", "For example, it grows on oak."),
        ("Who is most likely to get it?", "It is common in young trees.", "It was drawn in 1911."),
        ("What is the sextant for?", "It is used to measure angles.", "It is made of brass."),
        ("How does a barge differ from a boat?", "It is flat, whereas a boat is not.", "A barge is old."),
        ("What is a test?", "", "A test is a trial of something."),
    ],
)
def test_what_tells_an_answer_depends_on_what_is_asked(question: str, answer: str, beside: str):
    def is_told_by(text: str) -> bool:
        return any(cue.search(text) for cue in read_question(question).cues)

    assert is_told_by(answer) == bool(answer)
    assert not is_told_by(beside)
