// Every format contains the right numbers, and no file is left half-written.
#include <sys/stat.h>

#include <cstring>
#include <limits>
#include <set>
#include <sstream>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/elements.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::names_in;
using program::run;
using program::shell;

namespace {

/// Numbers that careless formatting would lose: signed zero, the smallest and the largest, thirds.
template <class T>
attn::Tensor awkward_numbers() {
    using limits = std::numeric_limits<T>;
    attn::Array<T> values = attn::empty_array<T>({3, 4});
    const T numbers[] = {-T{0},
                         T{0},
                         limits::infinity(),
                         -limits::infinity(),
                         limits::quiet_NaN(),
                         limits::denorm_min(),
                         limits::max(),
                         -limits::min(),
                         T{1} / 3,
                         T(1e-5),
                         T(16777217),
                         limits::epsilon()};
    std::copy(std::begin(numbers), std::end(numbers), values.data());
    return {{"query", "feature"}, std::move(values)};
}

void check_same_bits(const attn::Tensor& read, const attn::Tensor& expected) {
    CHECK(read.shape() == expected.shape());
    REQUIRE(read.dtype() == expected.dtype());
    CHECK(attn::value_bytes(read) == attn::value_bytes(expected));
}

/// The commands in the tables of a page.
std::vector<std::string> commands_of(const std::string& page) {
    std::vector<std::string> commands;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t begin = line.find(" | `");
        if (line.rfind("| ", 0) != 0 || begin == std::string::npos) continue;
        const std::size_t start = begin + 4;
        std::string command = line.substr(start, line.rfind('`') - start);
        for (std::size_t at; (at = command.find("\\|")) != std::string::npos;) command.erase(at, 1);
        commands.push_back(command);
    }
    return commands;
}

}  // namespace

TEST_SUITE("app: formats") {
    TEST_CASE("every command on the formats page runs without a message") {
        const std::vector<std::string> commands =
            commands_of(program::read_file(ATTN_SOURCE_DIR "/data/formats.md"));
        CHECK(commands.size() >= 15);
        for (const std::string& command : commands) {
            INFO(command);
            const Folder folder;
            const program::Result result =
                shell("OUT='" + folder.path().string() + "'; " + command);
            CHECK(result.exit_code == 0);
            const bool only_notes =
                result.err.empty() || result.err.find("error") == std::string::npos;
            CHECK_MESSAGE(only_notes, result.err);
            CHECK((!result.out.empty() || !names_in(folder.path()).empty()));
        }
    }

    TEST_CASE_TEMPLATE("lossless formats give the numbers back bit for bit", T, float, double) {
        const Folder folder;
        const attn::Tensor x = awkward_numbers<T>();
        {
            attn::OutputFile file(folder / "x.npy");
            attn::write_npy(file, x);
            file.commit();
        }
        const std::string flags = "--x '" + (folder / "x.npy") + "' --dtype " +
                                  std::string(attn::dtype_name(x.dtype())) + " --only ";
        for (const std::string format : {"npz", "safetensors", "json"}) {
            INFO(format);
            for (const auto& [part, expected] : std::vector<std::pair<std::string, attn::Tensor>>{
                     {"x", x},
                     {"x[0,0]", attn::slice(x, "0,0")},
                     {"x[1,3]", attn::slice(x, "1,3")},
                     {"x[1:1]", attn::slice(x, "1:1")},
                     {"x[:,4:]", attn::slice(x, ":,4:")}}) {
                INFO(part);
                const std::string path = folder / ("part." + format);
                const program::Result result =
                    run(flags + "'" + part + "' --format " + format + " -o '" + path + "'");
                REQUIRE_MESSAGE(result.exit_code == 0, result.err);
                const attn::Tensor read = attn::read_tensor(path + ":x");
                check_same_bits(read, expected);
            }
        }
        REQUIRE(run(flags + "x --save-dir '" + (folder / "dir") + "'").exit_code == 0);
        check_same_bits(attn::read_tensor(folder / "dir/01_x.npy"), x);
        check_same_bits(attn::read_tensor(folder / "dir/walk.json:x"), x);
    }

    TEST_CASE("npz and safetensors contain every step, csv the printed ones") {
        const Folder folder;
        const auto names = [&](const std::string& flags, const std::string& format) {
            const std::string path = folder / ("all." + format);
            REQUIRE(run(flags + " --format " + format + " -o '" + path + "'").exit_code == 0);
            std::set<std::string> found;
            for (const auto& each : attn::read_tensors(path)) found.insert(each.name);
            return found;
        };
        for (const std::string format : {"npz", "safetensors", "json"}) {
            CHECK(names("", format).count("w_query") == 1);
            CHECK(names("", format).count("row_sum") == 1);
        }
        const std::string table = run("--format csv").out;
        CHECK(table.find("\nw_query,") == table.npos);
        CHECK(table.find("\nweights,") != table.npos);
        CHECK(run("--format csv --detail").out.find("\nrow_max,") != table.npos);
        CHECK(table.rfind("step,query,key,feature,value,query_token,key_token\n"
                          "ids,0,,,5,life,\n",
                          0) == 0);
        CHECK(run("--format csv --batch 2 --heads 2")
                  .out.rfind("step,batch,head,query,key,feature,value\n", 0) == 0);
        // through a pipe the bytes are the same
        CHECK(run("--format npz").out == program::read_file(folder / "all.npz"));
    }

    TEST_CASE("markdown keeps prose, formulas and tensors separate, whatever the tokens are") {
        const std::string page =
            run("--format markdown --text 'a*b `c` <d>' --mask causal --precision 2").out;
        CHECK(page.rfind("# Attention, step by step\n\n```sh\nattn-explain --text 'a*b `c` <d>' "
                         "--mask causal --precision 2 --format markdown\n```\n\n## `ids`: ",
                         0) == 0);
        CHECK(page.find("(softmax(masked_scores) over the key axis)`\n") != std::string::npos);
        CHECK(page.find("\n```text\ntensor([[1.00, 0.00, 0.00],") != std::string::npos);
        CHECK(page.find("'a\\*b'") != std::string::npos);
        std::size_t fences = 0;
        for (std::size_t at = 0; (at = page.find("\n```", at)) != std::string::npos; ++at) ++fences;
        std::size_t headings = 0;
        for (std::size_t at = 0; (at = page.find("\n## ", at)) != std::string::npos; ++at) {
            ++headings;
        }
        CHECK(fences == 2 + 2 * headings);
    }

    TEST_CASE("--detail shows parameters and the parts of softmax") {
        for (const std::string name :
             {"embedding", "w_query", "w_key", "w_value", "row_max", "exponentials", "row_sum"}) {
            CHECK(run("").out.find("\n# " + name + ": ") == std::string::npos);
            CHECK(run("--detail").out.find("\n# " + name + ": ") != std::string::npos);
        }
    }

    TEST_CASE("a folder has a file for each step in the order of the walk") {
        const Folder folder;
        const std::string flags = "--save-dir '" + (folder / "walk") + "'";
        const program::Result result = run(flags);
        CHECK(result.exit_code == 0);
        CHECK(result.out.empty());
        CHECK(names_in(folder / "walk") ==
              std::set<std::string>{"01_ids.npy", "02_x.npy", "03_query.npy", "04_key.npy",
                                    "05_value.npy", "06_scores.npy", "07_scaled_scores.npy",
                                    "08_weights.npy", "09_context.npy", "walk.json"});
        CHECK(program::read_file(folder / "walk/walk.json") == run("--format json").out);
        CHECK(run(flags + " --format plain -q --only weights").out ==
              run("--format plain -q --only weights").out);
        CHECK(names_in(folder / "walk") == std::set<std::string>{"01_weights.npy", "walk.json"});
        CHECK(names_in(folder.path()) == std::set<std::string>{"walk"});
    }

    TEST_CASE("bad output is refused and leaves the old file") {
        const Folder folder;
        std::ofstream(folder / "old.npz") << "old";
        check_refused("--only nothing --format npz -o '" + (folder / "old.npz") + "'", "no step");
        check_refused("--only weights,weights --format npz -o '" + (folder / "old.npz") + "'",
                      "two tensors are called weights");
        CHECK(program::read_file(folder / "old.npz") == "old");
        check_refused("--save-dir '" + folder.path().string() + "'", "old.npz");
        check_refused("--save-dir '" + (folder / "a/b") + "'", "create its folder first");
        CHECK(names_in(folder.path()) == std::set<std::string>{"old.npz"});
    }

    TEST_CASE("a full disk or a signal in the middle leaves the old file") {
        const Folder folder;
        std::ofstream(folder / "x.npz") << "old";
        // With SIGXFSZ ignored, a file that grows too large fails as on a full disk.
        const std::string large = "--seq-len 300 --embed-dim 64 --heads 4 ";
        program::Result result = shell("trap '' XFSZ; ulimit -f 100; attn-explain " + large +
                                       "--format npz -o '" + (folder / "x.npz") + "'");
        CHECK(result.exit_code == 2);
        CHECK(result.err.find("File too large") != std::string::npos);
        CHECK(program::read_file(folder / "x.npz") == "old");
        std::filesystem::create_directory(folder / "dir");
        std::ofstream(folder / "dir/walk.json") << "old";
        result = shell("trap '' XFSZ; ulimit -f 100; attn-explain " + large + "--save-dir '" +
                       (folder / "dir") + "'");
        CHECK(result.exit_code == 2);
        CHECK(program::read_file(folder / "dir/walk.json") == "old");
        CHECK(names_in(folder / "dir") == std::set<std::string>{"walk.json"});
        result = shell("attn-explain --seq-len 700 --embed-dim 64 --heads 8 --save-dir '" +
                       (folder / "dir") + "' & sleep 0.15; kill -TERM $!; wait $!; true");
        CHECK(names_in(folder.path()) == std::set<std::string>{"dir", "x.npz"});
    }

    TEST_CASE("NumPy and pandas read the written files, if they are installed") {
        if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) return;
        const Folder folder;
        const program::Result result = shell(
            "OUT='" + folder.path().string() +
            "'; attn-explain --heads 2 --format npz -o \"$OUT/w.npz\" && attn-explain --heads 2 "
            "--save-dir \"$OUT/d\" && OUT=\"$OUT\" /usr/bin/python3 -c \"\nimport numpy as np, "
            "os\no = os.environ['OUT']\nz = np.load(o + '/w.npz')\n"
            "w = np.load(o + '/d/11_weights.npy')\n"
            "print((z['weights'] == w).all(), w.shape, w.dtype, z['ids'].dtype)\"");
        CHECK_MESSAGE(result.out == "True (2, 6, 6) float32 int64\n", result.err);
    }
}
