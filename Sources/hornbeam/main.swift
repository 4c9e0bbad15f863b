print("hornbeam")
