"""The sentences of the example table of support tickets.

``{slot}`` stands for one of the values of the slot, ``[a|b]`` for either of the two. Topics
share many words on purpose: a bug may sit on the invoice page, a wish may be about parcel
tracking, and the same complaint is put in several ways, so that a few labeled tickets do not
show every word of their topic.
"""

from __future__ import annotations

SLOTS: dict[str, str] = {
    "when": "[this morning|last night|yesterday|on Monday|an hour ago|today|on Saturday evening]",
    "since": "[since Monday|for a week|since the weekend|for {count} days|since last night]",
    "device": "[my phone|the tablet|my laptop|an old desktop|the office computer|the app]",
    "page": "[invoice|order|profile|search|tracking|checkout|settings|address|password|report"
    "|calendar|delivery|payment|start|overview|message]",
    "item": "[the desk lamp|the bookshelf|a garden chair|a coffee grinder|the rug|the kettle"
    "|the starter kit|a set of mugs|the standing desk|the monitor arm|a pair of headphones]",
    "person": "[my colleague|my wife|our accountant|my father|a teammate|the intern|my boss]",
    "plan": "[the family plan|the yearly plan|the team plan|the free trial|the premium plan]",
    "urge": "[as soon as possible|this week|before Friday|today if you can|quickly]",
    "file": "[spreadsheet|photo|report|backup|attachment|calendar|shopping list|drawing]",
    "carrier": "[the courier|the driver|the post office|the pickup shop|the depot]",
    "format": "[PDF|CSV|Excel|a printable sheet|plain text]",
    "tool": "[Slack|our calendar|the accounting tool|Teams|a smart speaker|our web shop]",
    "money": "[money|{amount} euros|the full price|half of the amount|the deposit]",
}

GREETINGS = "[Hello!|Hi there!|Good morning!|Dear support team.|Hi team!|Hey!|Good evening.]"
CLOSINGS = (
    "[Thanks!|Thank you.|Please help.|Kind regards|Waiting for your answer.|Best wishes"
    "|Can someone look into this?|Please let me know.|Cheers|Thanks in advance.]"
)

CONTEXTS = [
    "I have been [a customer|with you] for {count} years.",
    "this is about [order|ticket|case] {order}.",
    "I [wrote|called] about this {when} already.",
    "I am using {device}.",
    "we [bought|ordered] {item} from you.",
    "I am on {plan}.",
    "I hope [this is the right place|you can help me] here.",
    "{person} asked me to [contact you|write this].",
    "my customer number is {order}.",
]

SHARED = [
    "I need this [solved|done|answered] {urge}.",
    "I tried it on {device} with the same [result|outcome].",
    "I could not find [anything|an answer] about it on the help page.",
    "I already called the hotline and waited {count} minutes.",
    "{person} has the same [question|trouble|wish].",
    "this is the [second|third] time I am asking.",
    "it [worked|was] fine last [month|year].",
    "I can send you a screenshot of the {page} page.",
    "the chat assistant only sent me to the {page} page.",
    "otherwise I am happy with {item}.",
    "I do not want to cancel my account over this.",
]

ASIDES: dict[str, list[str]] = {
    "billing": [
        "by the way, the invoice was [correct|fine] this time.",
        "I have paid everything on time.",
        "the refund for the other order came through, thanks.",
    ],
    "bug": [
        "the app also feels a bit slow, but never mind.",
        "apart from that no error showed up.",
        "the crash from last month is gone, well done.",
    ],
    "login": [
        "I had to reset my password to write this.",
        "[logging|signing] in was easy for once.",
        "my account itself works.",
    ],
    "shipping": [
        "the last parcel was here in {count} days, great.",
        "delivery was fast, by the way.",
        "{item} arrived in good shape.",
    ],
    "feature": [
        "a dark theme would still be nice one day.",
        "I like the new calendar view.",
        "maybe you could mention this in the settings.",
    ],
}

SENTENCES: dict[str, list[str]] = {
    "billing": [
        "I was [charged|billed|debited] [twice|two times] for order {order}.",
        "you took {money} from my [card|account], but the [price|offer] was lower.",
        "the [invoice|bill|statement] for {item} shows the wrong [amount|sum|name].",
        "I returned {item} and [still wait for|never got back] {money}.",
        "when will the [refund|reimbursement|credit] of {amount} euros reach my bank?",
        "my [credit|debit] card was [declined|refused] although there is enough money on it.",
        "please send me [a receipt|a proof of payment|an invoice] with our name for {item}.",
        "the [discount|promo|coupon] code was not [applied|deducted|accepted] at checkout.",
        "I [cancelled|ended] {plan} and was [billed|charged] again {when}.",
        "why did the [subscription|monthly|yearly] fee go up by {amount} euros?",
        "the [tax|VAT] on the invoice does not match our country.",
        "I want to [pay|settle this] by [bank transfer|invoice|direct debit] instead of card.",
        "there is a [payment|booking|charge] of {amount} euros that I do not recognize.",
        "{person} needs the [bill|statement|receipts] for last month [corrected|again].",
        "the [voucher|gift card] of {amount} euros is gone after checkout.",
        "{plan} was renewed without asking me, I want [a refund|my money back].",
        "I got a [payment reminder|dunning letter] for order {order}, which I settled {when}.",
    ],
    "bug": [
        "the app [crashes|closes itself|quits] when I open the {page} page.",
        "the {page} page [stays blank|does not load|is empty] {since}.",
        "{device} [freezes|hangs|gets stuck] as soon as I scroll through the list.",
        "[saving|printing|renaming] a {file} ends with [an error message|a failure].",
        "the [totals|sums|averages] in the report are wrong since the [update|new version].",
        "my {file} [disappears|is lost|turns empty] after I press save.",
        "the search shows the same [result|hit] {count} times.",
        "the button on the {page} page [does nothing|cannot be clicked|is greyed out].",
        "changes on {device} do not [show up|synchronize|arrive] anywhere else.",
        "the export of a {file} gives a [broken|corrupt|unreadable] document.",
        "the dates [jump|are off] by one day in the calendar.",
        "[notifications|alerts] come {count} hours late or not at all.",
        "there is an unexpected [error|exception] with code {count} on the {page} page.",
        "[pictures|icons|charts] are shown [upside down|twice|in wrong colors] on {device}.",
        "the text overlaps and the [menu|window|dialog] cannot be closed.",
        "uploading a {file} [hangs|stops|fails] at ninety percent.",
        "the app drains the battery and [becomes unusable|gets very slow] {since}.",
    ],
    "login": [
        "I cannot [log in|sign in|get into my account] {since}.",
        "the [password reset|recovery] email never [arrives|reaches me].",
        "my [account|profile|access] is [locked|blocked|suspended] after {count} attempts.",
        "the [verification|security|six digit] code is always [rejected|wrong|too late].",
        "I changed my phone and lost the [authenticator|second factor|backup codes].",
        "it says that my [email address|username|user] is unknown.",
        "I am [thrown out|logged out|disconnected] and have to sign in every few minutes.",
        "the link to [confirm|activate|verify] my [address|account] has expired.",
        "{person} cannot [access|enter|open] the shared account any more.",
        "sign in with the company account leads back to the {page} page.",
        "I forgot which [username|email|nickname] I registered with.",
        "the new password is not [accepted|valid], although I typed it twice.",
        "please [unlock|reactivate|restore] the [profile|access] of {person}.",
        "the security question does not match what I entered years ago.",
        "the code by [text message|phone call] does not come to my number.",
        "I want to change the [email|phone number] that I use to sign in.",
        "somebody else seems to be [signed|logged] in under my name.",
    ],
    "shipping": [
        "{item} has not [arrived|come|been delivered] {since}.",
        "the tracking [number|link] for order {order} [does not work|shows nothing].",
        "the [parcel|package|box] was left [with a neighbor|in the rain|at a wrong door].",
        "{item} came with a [broken|scratched|dented] [corner|lid|foot].",
        "you sent {item} instead of {item}.",
        "{carrier} says that the [address|street|recipient] does not exist.",
        "can the [delivery|shipment] of order {order} be moved to [next week|Saturday]?",
        "the [box|carton|wrapping] was [open|torn|wet] and half of it was missing.",
        "the [package|shipment|consignment] has been stuck in customs {since}.",
        "please [change|correct] the [delivery|shipping] address of order {order}.",
        "{carrier} did not ring and took the [parcel|package] away again.",
        "order {order} is marked as delivered, but nothing is here.",
        "how long does [dispatch|delivery|shipping] to the islands take?",
        "I would like to [pick up|collect] {item} myself.",
        "one of the {count} [packages|boxes|parcels] is [lost|missing].",
        "the status has said [in transit|on the way|being packed] {since}.",
        "how do I send {item} back, is there a [return label|drop off point]?",
    ],
    "feature": [
        "[could|can] you add a [dark|compact|high contrast] mode to the {page} page?",
        "it would be [great|lovely|handy] to export everything as {format}.",
        "please make it possible to [edit|delete|move] several entries at once.",
        "I wish there were [reminders|filters|comments] for the {page} page.",
        "[a connection|an integration] with {tool} would save us hours.",
        "can we get keyboard shortcuts for the {page} page?",
        "I [suggest|propose] a map that shows where the parcel is.",
        "please support more [languages|currencies|time zones], {person} would be glad.",
        "an offline mode for {device} would be [wonderful|helpful].",
        "it would help to [sort|group|filter] the {file} by date.",
        "I am missing an option to share a {file} with {person}.",
        "why not let customers pay with several cards in one order?",
        "a [widget|shortcut|tutorial] for {device} would be a nice idea.",
        "we would love to have roles, so that {person} can only read.",
        "my [suggestion|idea|wish] is a larger [font|preview|button] on the {page} page.",
        "are there plans for an import from {tool}?",
        "it would be useful to sign in with a fingerprint.",
    ],
}
