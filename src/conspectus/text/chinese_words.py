"""Short lists of Chinese words that tell what a name names, or that only look like names: hints for `chinese`."""

from __future__ import annotations

from conspectus.text.data import word_lists

_LISTS = word_lists("chinese_words")

SURNAMES = frozenset(_LISTS["surnames"])
DOUBLE_SURNAMES = frozenset(
    ("欧阳 司马 诸葛 上官 夏侯 皇甫 尉迟 公孙 慕容 令狐 司徒 东方 南宫 耶律 完颜 宇文 长孙 端木").split()
)
SPELLING = frozenset(_LISTS["spelling"])
"""Characters that foreign names are spelled with."""
NO_PERSONS = frozenset(_LISTS["no_persons"].split())
"""Words that only look like a surname with a given name."""
NO_GIVEN = frozenset(
    "赛枝虫宫科院馆厂店路街线型式机车器会殿语族教酸素盐家氏藤草制法局省市县区队班组剧片报费价税率量"
    "度层级期类种品物件票证站港湾州屿以取被将由使令把并而且等所之的了是在有不也都又再"
)
"""How names of people do not end."""
VERBAL = frozenset("于任向和时成连包解曾应关能单过从至全明万")
"""Surnames that are small words and verbs too."""
NO_PLACES = frozenset(_LISTS["no_places"].split())
"""Words that the dictionary takes for places but that name none."""
TOLD_PLACES = frozenset(_LISTS["told_places"].split())
"""Places that the dictionary takes for something else."""
KNOWN_ORGANIZATIONS = frozenset(
    "索尼 诺基亚 麦当劳 肯德基 雅马哈 阿迪达斯 沃尔玛 切尔西 阿森纳 任天堂 迪士尼 华为 腾讯 阿里巴巴".split()
)
"""Organizations that the dictionary takes for persons."""
ORGANIZATIONS = tuple(_LISTS["organizations"].split())
"""How the names of organizations end."""
PLACES = tuple(_LISTS["places"].split())
"""How the names of places end."""
DISTRICTS = ("省", "市", "县", "縣")
"""How districts end that the dictionary takes for other nouns,"""
GENERIC_DISTRICTS = (
    "城市", "辖市", "级市", "超市", "门市", "股市", "夜市", "早市", "集市", "上市", "全市", "本市", "各市", "治县", "级县",
    "各县", "全县", "各省", "全省", "邻省", "外省", "反省", "节省",
)  # fmt: skip
"""and how those words end that name none."""
QUALIFIERS = frozenset(
    (
        "国立 國立 市立 省立 县立 私立 公立 国家 國家 中央 皇家 国际 全国 第一 第二 第三 世界 人民 联邦 帝国"
    ).split()
)
"""What may open the name of an organization before, or in place of, the name of a place."""
GENERIC = frozenset(_LISTS["generic"].split())
"""Words for organizations that name none."""
ROLES = frozenset(_LISTS["roles"].split())
"""Words before or after the names of people."""
VAGUE = frozenset(_LISTS["vague"].split())
"""Words that say too little to tell texts apart: no concept, nor part of one."""
