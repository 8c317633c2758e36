"""Names that a text gives in brackets after other names."""

from __future__ import annotations

from making import a_document, whole_chunk

from conspectus.indexing.graph import parenthetical_aliases
from conspectus.text.words import name_key


def joined(text: str, *names: str) -> dict[str, str]:
    return dict(parenthetical_aliases([whole_chunk(a_document(text))], {name_key(name) for name in names}))


def test_another_spelling_in_brackets_is_the_name_before_them():
    text = "演员罗宾·吉布（Robin Gibb，1949年）和《越南亡国史》（越南语：Việt Nam Vong Quốc Sử）。"

    assert joined(text, "罗宾·吉布", "Robin Gibb", "越南亡国史", "Việt Nam Vong Quốc Sử") == {
        name_key("Robin Gibb"): name_key("罗宾·吉布"),
        name_key("Việt Nam Vong Quốc Sử"): name_key("越南亡国史"),
    }


def test_the_longest_name_that_ends_at_the_brackets_is_meant():
    assert joined("他在黑龙江省博物馆（HPM）工作。", "博物馆", "黑龙江省博物馆", "HPM") == {
        "hpm": "黑龙江省博物馆"
    }


def test_a_short_name_that_may_end_a_longer_one_is_not_meant():
    assert joined("扁掌龙亚科（Plioplatecarpinae）很大。", "亚科", "Plioplatecarpinae") == {}


def test_what_stands_in_brackets_in_the_same_letters_must_be_said_to_be_another_name():
    assert joined("四川大学华西医院（简称华西医院）。", "四川大学华西医院", "华西医院") == {
        "华西医院": "四川大学华西医院"
    }
    assert joined("他去过四川大学华西医院（成都）。", "四川大学华西医院", "成都") == {}


def test_a_gloss_of_two_names_joins_neither():
    assert joined("保罗·塞里诺（Paul）和保罗·罗素（Paul）。", "保罗·塞里诺", "保罗·罗素", "Paul") == {}


def test_texts_without_chinese_are_left_alone():
    assert joined("The Weir Trust (WT) met.", "Weir Trust", "WT") == {}
