"""Names in Chinese sentences: people, places, organizations and works."""

from __future__ import annotations

import pytest
from making import some_documents

from conspectus.text.language import with_languages
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.uncased import find_chinese
from conspectus.text.vocabulary import read_vocabulary


def found(*sentences: str) -> dict[str, str]:
    """Return the names in sentences with their types."""
    vocabulary = read_vocabulary(sentences, ["zh"] * len(sentences))
    return {mention.words[0]: mention.type for mention in find_chinese(vocabulary)}


def read(*texts: str) -> Lexicon:
    return read_lexicon(with_languages(some_documents(*texts)))


@pytest.mark.parametrize(
    ("sentence", "name", "kind"),
    [
        ("黑龙江省博物馆位于红军街。", "黑龙江省博物馆", "organization"),
        ("他毕业于复旦大学。", "复旦大学", "organization"),
        ("中华民国法务部调查局前局长叶盛茂出席。", "中华民国法务部调查局", "organization"),
        ("中华民国法务部调查局前局长叶盛茂出席。", "叶盛茂", "person"),
        ("毕业生欧阳修写了这篇文章。", "欧阳修", "person"),
        ("演员罗宾·吉布发行了唱片。", "罗宾·吉布", "person"),
        ("他写了《越南亡国史》一书。", "越南亡国史", "work"),
        ("神奈川县在东京以南。", "神奈川县", "location"),
        ("公司在莫斯科设有分部。", "莫斯科", "location"),
        ("他们走过淮海中路回家。", "淮海中路", "location"),
        ("她在云南省大理市长大。", "大理市", "location"),
        ("韩雪松在昆明理工大学任教。", "昆明理工大学", "organization"),
        ("韩雪松在昆明理工大学任教。", "韩雪松", "person"),
        ("陈国栋是上海春申茶叶公司的董事长。", "上海春申茶叶公司", "organization"),
        ("拉诺米·克罗莫维焦约刷新了世界纪录。", "拉诺米·克罗莫维焦约", "person"),
    ],
)
def test_names_are_told_by_surnames_endings_and_marks(sentence: str, name: str, kind: str):
    assert found(sentence).get(name) == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "这个城市的公司很多。",
        "金属和石油都在上市。",
        "温泉的入口在山坡上。",
        "高中生喜欢音乐。",
        "叶背有毛，生长于海拔高处。",
        "美丽的山口很新鲜，长度普及。",
        "他曾任陆军少校。",
        "范畴和陈列是丛林。",
    ],
)
def test_common_nouns_are_no_names(sentence: str):
    assert found(sentence) == {}


def test_a_name_of_which_the_dictionary_has_only_a_part_is_whole_where_no_use_lacks_the_rest():
    lexicon = read(
        "耶律留哥起兵。", "人们怀念耶律留哥。", "后来耶律留哥病死。", "谷川在东京。", "长谷川来了。"
    )

    assert "耶律留哥" in lexicon.names
    assert "耶律留" not in lexicon.names
    assert "谷川" in lexicon.names


def test_latin_names_in_a_chinese_text_are_names():
    lexicon = read("保罗·塞里诺（Paul Sereno）发现了化石。", "研究由National Geographic资助。")

    assert {"Paul Sereno", "National Geographic"} <= set(lexicon.names)


def test_what_a_chinese_corpus_keeps_coming_back_to_is_a_concept():
    texts = ["市政府讨论了垃圾分类。垃圾分类需要宣传。", "居民对垃圾分类有意见。", "学校也教垃圾分类。"]
    lexicon = read(*texts, *(f"第{i}号文件讨论学校的预算和老师的课程安排。" for i in range(9)))

    assert lexicon.types[lexicon.names.index("垃圾分类")] == "concept"


def test_dates_in_chinese_are_told_by_their_signs():
    lexicon = read("协会成立于1962年3月4日。", "1999年重建，1999年开放。", "1999年更名。")

    assert [n for n, t in zip(lexicon.names, lexicon.types, strict=True) if t == "date"] == ["1962年3月4日"]


def test_who_speaks_is_told_by_full_width_colons_too():
    lexicon = read(
        "主持人：欢迎大家来到节目现场。\n王小明：我在复旦大学学习历史。\n主持人：谢谢你的分享。\n王小明：这本书很好看。\n王小明：再见。"
    )

    assert "王小明" in lexicon.sentences.table.speakers
