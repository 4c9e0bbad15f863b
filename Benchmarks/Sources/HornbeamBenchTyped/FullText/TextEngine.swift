// SPDX-License-Identifier: Apache-2.0
// What an engine must do to take part in the measurements of full text.

/// A document that was found.
struct TextHit {
    var document: Int
    /// In the engine's own measure.
    var score: Double
}

/// What a store keeps besides the texts themselves.
enum TextIndexing: String {
    /// Nothing: the difference is what the index costs.
    case none
    /// Which documents have which words, without the places.
    case words
    case positions
    /// Stems of English words in place of these, for judging what is found.
    case stems
}

/// A store of documents with a full-text index, for one thread.
protocol TextEngine: AnyObject, SendableMetatype {
    /// What is worked out of a question before the clock starts: no more than a program would keep.
    associatedtype Query

    static var name: String { get }
    /// Whether scores are those of the common formula, so that they can be checked.
    static var hasCommonScores: Bool { get }
    /// Which forms of index are built and measured.
    static var indexings: [TextIndexing] { get }
    /// Whether it is asked for documents without an index, too.
    static var hasPlainDocuments: Bool { get }

    /// Opens the store, or creates it.
    init(path: String, indexing: TextIndexing) throws

    /// Indexes documents of the corpus in one transaction, or as the engine advises for many.
    func build(_ corpus: Corpus, _ documents: Range<Int>) throws

    /// Nil where the engine has no such query.
    func query(_ kind: QuestionKind, _ question: Question) throws -> Query?
    /// The best ten, best first.
    func best(_ query: Query) throws -> [TextHit]
    /// The sum of the sizes of the texts of the best ten, which are read whole.
    func texts(_ query: Query) throws -> Int
    /// How many documents match.
    func count(_ query: Query) throws -> Int
    /// More than ten.
    func best(_ query: Query, limit: Int) throws -> [TextHit]

    // Each a durable transaction of its own.
    func insert(_ document: Int, _ text: String) throws
    func update(_ document: Int, _ text: String) throws
    func delete(_ document: Int) throws
    /// A document of a type without an index, beside the others.
    func insertPlain(_ document: Int, _ text: String) throws

    /// Shows what others have committed meanwhile, where that takes a call.
    func refresh() throws
    func close() throws
}

extension TextEngine {
    func refresh() throws {}
    static var hasPlainDocuments: Bool { false }
    func insertPlain(_ document: Int, _ text: String) throws {}
}
