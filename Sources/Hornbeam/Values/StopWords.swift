// SPDX-License-Identifier: Apache-2.0
// Words that a search may leave out because they say little. Indexes have all words: each search decides for itself
// which to leave out.

package import HornbeamText

/// Words that say little by themselves, to be left out of a search:
///
///     let query = SearchQuery<Page>(lenient: typed).leavingOut(.english)
///
/// Common words cost little (whole blocks of their postings are never read), and the score of BM25 counts them for next
/// to nothing. Leaving them out is for searches in which each word must be there: *the history of engines* then finds
/// *a history of engines* too.
public struct StopWords: Hashable, Sendable {
    package let list: StopWordList

    /// A list of your own. Case doesn't count, accents do. An entry of several words stands for each of them.
    public init(_ words: some Sequence<String>) {
        list = StopWordList(words)
    }

    private init(_ text: StaticString) {
        self.init("\(text)".split(separator: " ").map(String.init))
    }
}

// Articles, pronouns, prepositions, conjunctions, auxiliary verbs: words of closed classes. The English list omits
// words that often mean something else too: "no", "will" and "may". The other lists include negations, such as "nicht"
// and "não".
extension StopWords {
    public static let english = StopWords(
        """
        a about after all also am an and any are as at be because been before being between both but by can could did \
        do does doing during each few for from further had has have having he her here hers herself him himself his \
        how i if in into is it its itself me more most my myself of off on once only or other our ours ourselves \
        out over own same she should so some such than that the their theirs them themselves then there these they \
        this those through to too under until up very was we were what when where which while who whom why with would \
        you your yours yourself yourselves don't doesn't didn't isn't aren't wasn't weren't it's i'm you're they're
        """)

    public static let german = StopWords(
        """
        aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da \
        damit dann das dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch \
        dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen hab habe haben hat hatte hatten \
        hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ist ja jede jedem jeden jeder jedes jene \
        jetzt kann kein keine können man mein meine mich mir mit nach nicht noch nun nur ob oder ohne sehr sein seine \
        sich sie sind so solche soll sondern sonst über um und uns unser unter vom von vor war waren was weil welche \
        wenn werde werden wie wieder wir wird wo würde zu zum zur zwar zwischen
        """)

    public static let french = StopWords(
        """
        à ai au aux avec c ce ces cette d dans de des du elle elles en es est et étaient était être eu eux il ils j je \
        l la le les leur leurs lui m ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas pour qu que \
        qui s sa sans se ses si son sont sous sur t ta te tes toi ton tu un une vos votre vous y
        """)

    public static let spanish = StopWords(
        """
        a al algo ante antes como con contra cual cuando de del desde donde durante e el él ella ellas ellos en entre \
        era eran es esa esas ese eso esos esta está están estas este esto estos fue fueron ha han hasta hay la las le \
        les lo los más me mi mis muy ni no nos nosotros o os para pero por porque que qué se ser si sí sin sobre son \
        su sus también te tu tú tus un una unas uno unos y ya yo
        """)

    public static let italian = StopWords(
        """
        a ad agli ai al alla alle allo anche c che chi ci come con cui d da dagli dai dal dalla dalle dallo degli dei \
        del della delle dello di dove e è ed era erano essere fra gli ha hanno ho i il in io l la le lei li lo loro \
        lui ma mi mia mie miei mio ne negli nei nel nella nelle nello noi non nostra nostro o per perché più quella \
        quelle quelli quello questa queste questi questo se si sia sono su sua sue sugli sui sul sulla sulle sullo suo \
        suoi ti tra tu tua tuo un una uno vi voi
        """)

    public static let portuguese = StopWords(
        """
        a à ao aos aquela aquelas aquele aqueles as às até com como da das de dela dele deles depois do dos e é ela \
        elas ele eles em entre era eram essa essas esse esses esta está estão estas este estes eu foi foram há isso \
        isto já lhe mais mas me mesmo meu meus minha muito na não nas nem no nos nós nossa nosso num numa o os ou para \
        pela pelas pelo pelos por qual quando que quem são se sem ser seu seus só sua suas também te tem têm teu tu \
        tua um uma você vocês
        """)

    public static let dutch = StopWords(
        """
        aan al alle als althans ander bij daar dan dat de der deze die dit doch door dus een en er had hadden heb \
        hebben heeft hem het hier hij hoe hun ik in is ja je jou jouw jullie kan kon maar me meer men met mij mijn na \
        naar niet nog nu of om omdat ons onze ook op over te tegen toch toen tot u uit uw van veel voor waar waren was \
        wat we wel werd wie wij worden wordt zal ze zich zij zijn zo zonder zou
        """)
}
