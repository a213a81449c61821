// Runs the fuzz target without libFuzzer: over files, and over random changes of them.
//   records_fuzz [--mutations N] [--seed S] [--record FILE] FILE...
// Prints how many inputs ran and a digest of their results. The last input is kept in --record FILE: if the program
// dies, that is the one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" uint32_t danlu_digest_one_input(const uint8_t *data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
uint64_t state = 1;

uint64_t random_number() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

Bytes mutated(const std::vector<Bytes> &corpus) {
    Bytes input = corpus[random_number() % corpus.size()];
    const int changes = 1 + static_cast<int>(random_number() % 6);
    for (int i = 0; i < changes && !input.empty(); i++) {
        const size_t at = random_number() % input.size();
        switch (random_number() % 7) {
        case 0: input[at] = static_cast<uint8_t>(random_number()); break;
        case 1: input[at] ^= static_cast<uint8_t>(1u << (random_number() % 8)); break;
        case 2: input[at] = random_number() % 2 ? 0xFF : 0x00; break;
        case 3: input.resize(at); break;
        case 4: input.insert(input.begin() + static_cast<long>(at), static_cast<uint8_t>(random_number())); break;
        case 5: input.erase(input.begin() + static_cast<long>(at)); break;
        default: { // a piece of another input
            const Bytes &other = corpus[random_number() % corpus.size()];
            const size_t from = other.empty() ? 0 : random_number() % other.size();
            const size_t count = std::min<size_t>(other.size() - from, 1 + random_number() % 64);
            input.insert(input.begin() + static_cast<long>(at), other.begin() + static_cast<long>(from),
                         other.begin() + static_cast<long>(from + count));
        }
        }
    }
    return input;
}

} // namespace

int main(int argc, char **argv) {
    long mutations = 0;
    std::string record;
    std::vector<Bytes> corpus;
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        if (argument == "--mutations" && i + 1 < argc)
            mutations = std::atol(argv[++i]);
        else if (argument == "--seed" && i + 1 < argc)
            state = static_cast<uint64_t>(std::atol(argv[++i])) * 2654435761u + 1;
        else if (argument == "--record" && i + 1 < argc)
            record = argv[++i];
        else {
            std::ifstream file(argument, std::ios::binary);
            corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        }
    }
    if (corpus.empty()) return 2;
    uint32_t digest = 0;
    for (const Bytes &input : corpus)
        for (int choice = 0; choice < 24; choice++) {
            Bytes varied = input;
            if (varied.size() > 1) varied[0] = static_cast<uint8_t>(varied[0] + 37 * choice);
            digest = digest * 31 + danlu_digest_one_input(varied.data(), varied.size());
        }
    for (long i = 0; i < mutations; i++) {
        const Bytes input = mutated(corpus);
        if (!record.empty())
            std::ofstream(record, std::ios::binary).write(reinterpret_cast<const char *>(input.data()), static_cast<long>(input.size()));
        danlu_digest_one_input(input.data(), input.size());
    }
    std::printf("%zu files, %ld mutations, digest %08x\n", corpus.size(), mutations, digest);
    return 0;
}
