import Testing

@testable import hornbeam
