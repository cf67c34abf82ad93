#!/usr/bin/env python3
"""Writes data/lines.txt: about 1,000 lines in many languages and scripts, all composed here (no foreign text), with the
cases a tokenizer gets wrong: accents in both normal forms, CJK without spaces, controls, odd spaces, symbols,
emoji sequences, very long words and lines. Usage: make_lines.py > ../data/lines.txt"""
import itertools
import random
import unicodedata

FACTS = """Plants make sugar from sunlight, water and carbon dioxide.
Green leaves turn light into food through photosynthesis.
Roots drink water from the soil and hold the tree upright.
A seed sleeps in the ground until spring warms it.
Bees carry pollen from flower to flower and make honey.
The moon pulls the sea and makes the tides.
Ice is lighter than water, so it floats.
Sound needs air or something else to travel through.
Lightning heats the air so fast that we hear thunder.
The sun is a star, only much nearer than the others.
Salt lowers the temperature at which water freezes.
Iron rusts when water and oxygen reach it.
A whale is a mammal and breathes air.
Spiders have eight legs, insects have six.
Bread rises because yeast makes gas in the dough.
Milk turns sour when bacteria eat its sugar.
The heart pumps about five litres of blood a minute.
Bones store calcium and make blood cells.
A vaccine teaches the body to recognise a disease.
Washing your hands is the cheapest medicine.
The train to the coast leaves at seven from platform two.
My bicycle has a flat tyre and a broken bell.
Could you tell me where the nearest chemist is?
We missed the last bus and walked home in the rain.
The restaurant by the harbour serves fresh fish every evening.
Please close the window, it is getting cold in here.
She learned to play the violin when she was forty.
He forgot his keys again and waited on the stairs.
The children built a castle of sand and the sea took it.
Our neighbour grows tomatoes on the balcony.
The company reported higher profits in the third quarter.
Interest rates were left unchanged by the central bank.
The parliament voted for a new law on water protection.
The team scored twice in the last five minutes.
The marathon was won by a runner nobody knew.
The new telescope sees galaxies that formed long ago.
A thread pool keeps workers ready, so that no time is lost starting them.
The compiler unrolled the loop and kept the sums in registers.
Matrix multiplication is limited by arithmetic, not by memory, when the matrices are large.
The cache line moved between two cores a million times.
Never hold a lock while you wait for another one.
The test failed only on machines with more than eight cores.
The password must have at least twelve characters.
The parcel was delivered to the wrong address.
I would like to return these shoes, they are too small.
The hotel room was clean, but the street was noisy all night.
The soup needs a little more salt and some fresh parsley.
Boil the pasta for nine minutes and keep a cup of the water.
The museum is closed on Mondays and on public holidays.
The oldest house in town was built of oak beams and clay."""

ENGLISH = (["The old gardener", "A young engineer", "My grandmother", "The night nurse", "Our teacher", "A tired pilot"],
           ["watched", "repaired", "described", "painted", "remembered", "sold"],
           ["the broken clock", "a map of the islands", "the first snow of the year", "an unusual bird",
            "the engine of the boat", "a letter from Norway"],
           ["before breakfast.", "without saying a word.", "in less than an hour!", "again and again...", "for $12.50."])

# subject, verb, object for each language; the sentences are the product of the three.
LANGUAGES = {
    "de": (["Der Bäcker", "Die Ärztin", "Mein jüngster Bruder", "Das Mädchen"], ["öffnet", "vergißt", "sucht", "grüßt"],
           ["die Tür.", "den Schlüssel im Café.", "das größte Schiff", "über die Straße hinweg?"]),
    "fr": (["L'été dernier, Élise", "Le garçon", "Notre voisine", "Un élève"], ["a mangé", "préfère", "cherche", "déçoit"],
           ["une crêpe à la crème brûlée.", "le château près de l'hôtel.", "où être heureux ?", "« ça va »"]),
    "es": (["El niño", "La señora Núñez", "Mañana", "¿Quién"], ["llegó", "pidió", "cantará", "olvidó"],
           ["a la montaña.", "un café y un pingüino de papel.", "el corazón?", "¡qué alegría!"]),
    "pt": (["A avó", "O irmão", "João"], ["não viu", "comprou", "põe"], ["o pão.", "a canção da manhã.", "três maçãs."]),
    "it": (["La città", "Perché il ragazzo", "Lunedì"], ["è", "andò", "può"], ["più bella.", "al caffè.", "così lontano?"]),
    "sv": (["Älgen", "Åsa", "Den gröna dörren"], ["står", "öppnar", "går"], ["i skogen.", "fönstret på kvällen.", "över ån."]),
    "pl": (["Żółta łódź", "Książę", "Dziewczyna"], ["płynie", "śpi", "pisze"], ["przez jezioro.", "pod gwiazdą.", "źle!"]),
    "cs": (["Příliš žluťoučký kůň", "Můj soused", "Děvče"], ["běží", "čte", "říká"], ["k řece.", "staré dějiny.", "ať žije!"]),
    "hu": (["A fűszerkereskedő", "Őszinte barátom", "Az út"], ["főz", "tűr", "követ"], ["gyümölcsöt.", "egész nap.", "öt felhőt."]),
    "ro": (["Fata", "Bătrânul", "Știința"], ["vede", "știe", "ține"], ["pădurea.", "țara întreagă.", "mâine."]),
    "tr": (["İstanbul'da IŞIK", "Çocuk", "Güneş"], ["gördü", "değil", "bekliyor"], ["ağacı.", "şimdi.", "yağmuru?"]),
    "vi": (["Tôi", "Người bạn", "Mùa hè"], ["yêu", "thấy", "đến"], ["Việt Nam.", "phở bò Hà Nội.", "đường phố nhỏ."]),
    "fi": (["Sää", "Hyvää päivää, Äiti", "Yö"], ["näyttää", "lähtee", "syö"], ["kylmältä.", "töihin.", "mustikoita."]),
    "is": (["Þórunn", "Ævar", "Ðað"], ["á", "sér", "þarf"], ["bát.", "eldfjallið.", "ís."]),
    "ru": (["Старый капитан", "Ёжик", "Моя сестра", "Наш поезд"], ["видит", "ждёт", "читает", "строит"],
           ["море.", "письмо из Томска.", "зелёный дом.", "чай с лимоном!"]),
    "uk": (["Їжак", "Моя мати", "Ґанок"], ["любить", "бачить", "має"], ["яблука.", "Київ.", "інше ім'я."]),
    "bg": (["Учителят", "Реката"], ["пише", "тече"], ["бързо.", "към Черно море."]),
    "el": (["Ο Οδυσσέας", "Η θάλασσα", "Το παιδί"], ["βλέπει", "είναι", "ΓΡΑΦΕΙ"], ["την Ιθάκη.", "ήσυχη σήμερα.", "ένα γράμμα;"]),
    "he": (["הילד", "הַשֶּׁמֶשׁ", "ירושלים"], ["רואה", "שרה"], ["את הים.", "שיר חדש!"]),
    "ar": (["الطالب", "مُحَمَّدٌ", "البحر"], ["يقرأ", "يرى", "يحب"], ["الكتاب.", "القمر في الليل؟", "القهوة، والتمر."]),
    "fa": (["پدر من", "گربه"], ["می\u200cخواهد", "دید"], ["به خانه برود.", "ماهی را."]),
    "hi": (["लड़का", "मेरी माँ", "सूरज"], ["देखता है", "पढ़ती है"], ["किताब।", "हिन्दी में क्ष और ज्ञ।", "नदी के पार"]),
    "bn": (["আমার ভাই", "নদী"], ["দেখে", "গান গায়"], ["আকাশ।", "বাংলায়।"]),
    "ta": (["அவன்", "மழை"], ["பார்க்கிறான்", "வருகிறது"], ["கடலை.", "இன்று."]),
    "th": (["แม่", "เด็ก"], ["กิน", "เห็น"], ["ข้าวที่บ้าน", "ช้างตัวใหญ่"]),
    "ka": (["ბიჭი", "მზე"], ["ხედავს", "წერს"], ["ზღვას.", "წერილს."]),
    "hy": (["Տղան", "Արևը"], ["տեսնում է", "կարդում է"], ["ծովը։", "գիրքը։"]),
    "zh": (["我的朋友", "老师", "這個城市", "春天"], ["喜欢", "看见了", "没有"], ["北京的秋天。", "一本很厚的书！", "三百二十七座橋", "光合作用？"]),
    "ja": (["猫", "わたしの先生", "カタカナ", "東京タワー"], ["が好きです", "を見ました", "とはなんですか"], ["。", "？！", "、たぶん。", "ガギグゲゴ ｶﾞｷﾞ"]),
    "ko": (["나의 친구", "선생님", "하늘"], ["은 책을 읽는다", "이 웃는다", "을 보았다"], [".", "!", " 서울에서", " 각 갂 힣"]),
}

SPECIAL = [
    "", " ", "\t", "a", "?", "...", "[MASK] is a token", "the [SEP] and the[CLS]end", "[mask] [ MASK ] [UNK][PAD]", "[MASK",
    "don't can't won't I'm you'll they've", "e-mail: someone@example.org, https://example.org/a_b?c=d&e=%20#f",
    "C++ and C# and F# and .NET; x86-64, AVX-512, float32[3][4]", "3.14159 1,000,000 1e-12 0x1F 50% ½ ¾ ² ³ № ™ © ®",
    "$100 €200 £300 ¥400 ₽500 ₹600 ₿7", "A+B=C; a<b>c; {x|y}; ~z^2; `code`; \\back\\slash/", "#hashtag ##double @user __init__",
    "naïve café résumé coöperate façade", unicodedata.normalize("NFD", "naïve café résumé coöperate façade"),
    "ÀÉÎÕÜ ÀÉÎÕÜ ŁØÐÞ ßẞ ﬁ ﬂ ﬃ Ǆ ǅ ǆ", "q\u0323\u0307 q\u0323\u0307 ạ\u0308 ạ\u0308", "Å Å Å Ω Ω K K",
    "zero\u200bwidth\u200cjoiners\u200dand\u00adsoft hyphens\ufeff", "tabs\tand vertical form\u3000wide spaces",
    "control\x01characters\x7fvanish\x1b[31m\ufffd", "l\u0316\u0317\u0318\u0319\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f\u0310\u0311\u0312\u0313\u0314\u0315", "😀😃😄 👍🏽 👩\u200d👩\u200d👧\u200d👦 🇫🇷🇯🇵 ❤\ufe0f ☀\ufe0f ✈\ufe0e", "weather: ☁☂☃ chess: ♔♕♖ music: ♩♪♫ arrows: ←↑→↓⇒",
    "∀x∈ℝ: ∃y ≠ x ⇒ ∑ √∞ ≤ ∫ ∂ π≈3", "𝒜𝓑 𝔘𝔫𝔦 𝟘𝟙𝟚 ＡＢＣ１２３ ㍿ ㎏ ①②③ Ⅳ ⅳ", "「こんにちは」『世界』・…ー〜、。", "﹁﹂︵︶〈〉《》【】〔〕", "中文abc中文123中文", "豈更車 丽丸乁 㐀㐁 𠀀𠀁 鿿",
    "한글 한글 ㄱㄴㄷ", "Ꭰꭰ ᲐᲑ აბ Ⴀ ⴀ 𐐀𐐨 Ɐɐ ẞ İi Iı", "١٢٣ ۴۵۶ १२३ ๑๒๓ 一二三", "—–‒−-‐ ‘’‚“”„«»‹› …·•‣", "\u202eright to left\u202c \u200fmark\u200e", "ខ្មែរ ລາວ မြန်မာ བོད་ཡིག ᠮᠣᠩᠭᠣᠯ አማርኛ ᓄᓇ ދިވެހި",
    "x" * 99, "x" * 100, "x" * 101, "y" * 5000, "é" * 100, "é" * 101, "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "донаудампфшиффартсгезельшафтскапитан", "word " * 253, "word " * 254, "word " * 255, "word " * 256, "word " * 300, "?" * 254, "?" * 255, "漢" * 300, "long " + "line, " * 400,
    "Internationalization" * 5 + " " + "ab" * 60, "MiXeD CaSe WoRdS IN ALL caps AND SMALL", "a.b.c.d U.S.A. Ph.D. e.g. i.e.", "\u00a0non\u00a0breaking\u202fspaces\u3000here",
    "null bytes are gone; the rest stays", "  leading and trailing  ", "CRLF inside\r is a space", "\u2028line separators\u2029are spaces\u0085",
]


def main():
    rng = random.Random(20261101)
    lines = FACTS.split("\n")
    english = [" ".join(p) for p in itertools.product(*ENGLISH)]
    lines += rng.sample(english, 240)
    for name, parts in LANGUAGES.items():
        joint = "" if name in ("zh", "ja", "ko", "th") else " "
        whole = [joint.join(p) for p in itertools.product(*parts)]
        lines += rng.sample(whole, min(len(whole), 24))
    for i in range(80):  # paragraphs of very different lengths
        lines.append(" ".join(rng.sample(FACTS.split("\n"), 1 + i % 16)))
    pool = [w for line in lines for w in line.split()]
    for i in range(60):  # mixed scripts
        lines.append(" ".join(rng.choice(pool) for _ in range(3 + i % 40)))
    ordinary = lines[50:]
    rng.shuffle(ordinary)
    lines = lines[:50] + ordinary + SPECIAL
    text = "".join(line.replace("\n", " ") + "\n" for line in lines)
    import sys
    sys.stdout.buffer.write(text.encode("utf-8"))


main()
