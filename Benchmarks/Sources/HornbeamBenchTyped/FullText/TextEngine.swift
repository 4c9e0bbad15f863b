// SPDX-License-Identifier: Apache-2.0
// The requirements of an engine in the measurements of full text.

/// A found document.
struct TextHit {
    var document: Int
    /// The engine's own score.
    var score: Double
}

/// The index that a store keeps besides the texts.
enum TextIndexing: String {
    /// None: the difference shows the cost of the index.
    case none
    /// The documents of each word, without positions.
    case words
    case positions
    /// Stems of English words in place of the words, for judging relevance.
    case stems
}

/// A store of documents with a full-text index, for one thread.
protocol TextEngine: AnyObject, SendableMetatype {
    /// A query prepared before the clock starts, as far as a program would keep it.
    associatedtype Query

    static var name: String { get }
    /// Whether scores follow the common formula, so that they can be checked.
    static var hasCommonScores: Bool { get }
    /// The forms of index that are built and measured.
    static var indexings: [TextIndexing] { get }
    /// Whether documents without an index are measured, too.
    static var hasPlainDocuments: Bool { get }

    /// Opens the store, or creates it.
    init(path: String, indexing: TextIndexing) throws

    /// Indexes documents of the corpus in one transaction, or as the engine advises for many documents.
    func build(_ corpus: Corpus, _ documents: Range<Int>) throws

    /// Returns nil if the engine has no such query.
    func query(_ kind: QuestionKind, _ question: Question) throws -> Query?
    /// Returns the ten best documents, best first.
    func best(_ query: Query) throws -> [TextHit]
    /// Returns the total size of the texts of the ten best documents, which are read completely.
    func texts(_ query: Query) throws -> Int
    /// Returns the number of matching documents.
    func count(_ query: Query) throws -> Int
    /// Returns more than ten documents.
    func best(_ query: Query, limit: Int) throws -> [TextHit]

    // Each a durable transaction of its own.
    func insert(_ document: Int, _ text: String) throws
    func update(_ document: Int, _ text: String) throws
    func delete(_ document: Int) throws
    /// Inserts a document of a type without an index.
    func insertPlain(_ document: Int, _ text: String) throws

    /// Makes the commits of others visible, if that takes a call.
    func refresh() throws
    func close() throws
}

extension TextEngine {
    func refresh() throws {}
    static var hasPlainDocuments: Bool { false }
    func insertPlain(_ document: Int, _ text: String) throws {}
}
