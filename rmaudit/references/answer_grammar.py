"""Match the grammar of English by which Biber tells kinds of texts apart.

Of his 67 features ("Variation across Speech and Writing", 1988, appendix II) those are here that a
pattern finds well enough without a parser, under his names where readers know them; others, such as
pronouns, modals and tense, are in `answer_kinds`. Each is counted per word of an answer.
"""

from __future__ import annotations

_BE = r"(?:am|is|are|was|were|be|been|being|\w+['’](?:s|re|m))"
_PART = (
    r"(?:\w{2,}(?:ed|en|own|ought|ept|uilt)|made|done|found|held|left|lost|paid|put|read|said|set)"
)
_BETWEEN = r"(?: (?:not|never|always|also|often|already|ever|just|been|\w+ly))*"
_MODAL = r"(?:can|could|may|might|must|shall|should|will|would|do|does|did|have|has|had)"
_DETERMINER = (
    r"(?:the|an?|this|that|these|those|my|your|his|her|its|our|their|it|me|you|him|us|them|each"
    r"|every|any|some|all|both|one|two|more|most|many|\w+ing)"
)
_SUBJECT = r"(?:I|you|we|they|he|she|it|the|this|that|these|those|there|my|your|our|their|his|her)"
_PREPOSITION = r"(?:about|against|at|by|for|from|in|into|of|off|on|onto|over|to|up|upon|with)"
_START = r"(?:^|[.!?:;]\s+|\n)\W*"
_PRIVATE = (
    r"(?:believ|consider|decid|discover|expect|feel|felt|find|found|hope|hoping|imagin|know|knew|known"
    r"|learn|mean|notic|realiz|realis|recogniz|remember|see|show|think|thought|understand|understood"
    r"|worr)\w{0,3}"
)
_PUBLIC = (
    r"(?:said|says?|saying|told|tells?|telling|(?:admit|agree|announc|assert|claim|complain|confirm"
    r"|declar|den[iy]|explain|hint|insist|mention|promis|protest|remark|repl[iy]|report|stat|suggest"
    r"|swear|warn|writ)(?:e|es|ed|s|d|ing|ting|ies|ied|y|te|tten)?|wrote)"
)

IN_EITHER_CASE = {  # parts of a text, found where words begin and end
    "in the perfect tense": rf"(?:have|has|had|\w+['’]ve){_BETWEEN} {_PART}",
    "in the passive": rf"(?:{_BE}|gets?|got){_BETWEEN} {_PART}",
    "in the passive with “by”": rf"{_BE}{_BETWEEN} {_PART} by",
    "with “there is” or “there are”": (
        r"there(?:['’]s| (?:is|are|was|were|will be|can be|may be|has been|have been))"
    ),
    "with infinitives": rf"to (?:not )?(?!{_DETERMINER}\b)[a-z]+",
    "with clauses of “that”": rf"(?:{_PRIVATE}|{_PUBLIC}|sure|clear|true|important|fact) that",
    "with “that” left out": rf"(?:think|know|believe|hope|feel|say|guess|mean|sure) {_SUBJECT}",
    "with clauses of “what” or “how”": (
        rf"(?:{_PRIVATE}|{_PUBLIC}|ask\w*|wonder\w*|about|of|on)"
        r" (?:what|which|where|when|why|how|who)"
    ),
    "with relative clauses": (
        r"\w+,? (?:who|whom|whose|which)|\w+ that (?:is|are|was|were|can|has|have)"
    ),
    "with “which” after a preposition": rf"{_PREPOSITION} (?:which|whom|whose)",
    "with “this” or “that” by itself": (
        r"(?:this|that|these|those) (?:is|are|was|were|can|could|may|might|must|should|will|would"
        r"|has|have|does|do|means?|makes?|helps?|includes?|ensures?|gives?|allows?)"
    ),
    "with adjectives": r"\w{2,}(?:able|ible|al|ful|ic|ical|ive|less|ous|ary|ant|ent) (?=[a-z]{3,})",
    "with adjectives after “is” or “are”": (
        rf"{_BE}(?: (?:not|very|so|too|quite|really|also|\w+ly))*"
        r" \w{2,}(?:able|ible|al|ful|ic|ive|less|ous|ary|ant|ent|y)"
    ),
    "with participles after nouns": rf"\w+ \w{{2,}}ed {_PREPOSITION}",
    "with connectives such as “therefore”": (
        r"alternatively|altogether|consequently|conversely|furthermore|hence|however|instead|likewise"
        r"|moreover|namely|nevertheless|nonetheless|otherwise|similarly|therefore|thus"
        r"|additionally|in (?:addition|comparison|conclusion|consequence|contrast|fact|general"
        r"|other words|particular|summary|any case)|for (?:example|instance)"
        r"|as a (?:result|consequence)|on the (?:other hand|contrary)|by contrast|that is"
    ),
    "with “while”, “since” or “as long as”": (
        r"since|while|whilst|whereas|whereby|so that|such that|as (?:long|soon) as|until"
    ),
    "with amplifiers such as “completely”": (
        r"absolutely|altogether|completely|enormously|entirely|extremely|fully|greatly|highly"
        r"|intensely|perfectly|strongly|thoroughly|totally|utterly|very"
    ),
    "with emphatics such as “a lot”": (
        r"for sure|a lot|such an?|really|real|so \w+|do \w+|just|most"
    ),
    "with downtoners such as “almost”": (
        r"almost|barely|hardly|merely|mildly|nearly|only|partially|partly|practically|scarcely"
        r"|slightly|somewhat"
    ),
    "with verbs of speaking": _PUBLIC,
    "with verbs of urging": (
        r"(?:ask|beg|command|demand|insist|instruct|propos|recommend|request|suggest|urg|requir|allow"
        r"|encourag|advis)(?:e|es|ed|s|d|ing)?"
    ),
    "with “seem” or “appear”": r"(?:seem|appear)(?:s|ed|ing)?",
    "with “not”": r"not|cannot|\w+n['’]t",
    "with “no”, “neither” or “nor”": r"no|neither|nor",
    "with adverbs between verbs": (
        rf"(?:{_MODAL}|{_BE}) (?:\w+ly|also|always|often|never|still) \w+"
    ),
    "with “to” and an adverb": r"to \w+ly \w+",
    "with demonstratives": r"this|that|these|those",
}
AS_WRITTEN = {  # parts of a text, signs and capitals included
    "with participles after a comma": r", \w{2,}ing\b",
    "with sentences that begin in -ing": rf"{_START}\w{{2,}}ing\b",
    "with sentences that begin in -ed": rf"{_START}\w{{2,}}ed\b",
    "with “which” after a comma": r", which\b",
    "with prepositions before a sign": rf"(?i)\b{_PREPOSITION}[.,;:!?]",
    "with clauses joined by “and”": (
        rf"{_START}And\b|, and (?:then|so|{_SUBJECT})\b|, (?:but|so|or) {_SUBJECT}\b"
    ),
    "with “well” or “now” at the beginning": rf"{_START}(?:Well|Now|Anyway|Anyhow|So)\b",
}
