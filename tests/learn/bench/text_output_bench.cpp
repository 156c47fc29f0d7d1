// Measures how fast tensors are written as text: each form against std::to_chars, called for every
// number into a buffer with a space after it; on one thread, interleaved, medians of several
// rounds, in seconds of processor time. Flags add two kinds of peers:
//
//     text_output_bench [--peers] [--bytes] [FOLDER] [ROUNDS]
//
// --peers  files beside numpy.savetxt, and str(tensor) of PyTorch, through /usr/bin/python3
// --bytes  a .npy file of 400 MB beside numpy.save
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "attn/files/io/array_files.hpp"
#include "attn/show/render/render.hpp"

namespace {

using attn::TextForm;

constexpr std::size_t rows = 5'000;
constexpr std::size_t file_rows = 50'000;
constexpr std::size_t columns = 100;
constexpr std::size_t large = 100'000'000;  // float32: 400 MB
constexpr float infinity = std::numeric_limits<float>::infinity();

using Action = std::function<void()>;

/// Seconds of processor time, which other programs do not affect.
double seconds_of(const Action& action) {
    const std::clock_t start = std::clock();
    action();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

/// The median seconds of each action; every round runs all of them.
std::vector<double> seconds_of_all(const std::vector<Action>& actions, int rounds) {
    std::vector<std::vector<double>> seconds(actions.size());
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < actions.size(); ++i) {
            seconds[i].push_back(seconds_of(actions[i]));
        }
    }
    std::vector<double> medians;
    for (const auto& each : seconds) medians.push_back(median(each));
    return medians;
}

template <class T, class Next>
attn::Tensor filled(Next&& next, std::size_t length = rows) {
    attn::Array<T> values = attn::empty_array<T>({length, columns});
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<T>(next(i));
    return {{"query", "feature"}, std::move(values)};
}

struct Numbers {
    const char* name;
    attn::Tensor tensor;
};

std::vector<Numbers> kinds_of_numbers() {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> unit;
    const auto drawn = [&](std::size_t) { return normal(generator); };
    return {{"normal", filled<float>(drawn)},
            {"normal float64", filled<double>(drawn)},
            {"weights", filled<float>([&](std::size_t) { return unit(generator); })},
            {"hundreds", filled<float>([&](std::size_t i) { return 100 * drawn(i); })},
            {"causal scores", filled<float>([&](std::size_t i) {
                 return i % columns <= i / columns % columns ? drawn(i) : -double{infinity};
             })}};
}

void write_by_to_chars(const attn::Tensor& tensor, std::chars_format format,
                       std::vector<char>& buffer) {
    char* out = buffer.data();
    const auto write = [&](const auto* values) {
        for (std::size_t i = 0; i < tensor.size(); ++i) {
            out = std::to_chars(out, out + 400, values[i], format, 4).ptr;
            *out++ = ' ';
        }
    };
    if (tensor.dtype() == attn::DType::float32) {
        write(tensor.as<float>().data());
    } else {
        write(tensor.as<double>().data());
    }
}

attn::Document document_with(const attn::Tensor& tensor) {
    attn::Document document;
    document.sections.push_back({"x", "", "", "", "", "", tensor, "", true, "", {}});
    return document;
}

attn::PrintOptions four_decimals(attn::SciMode sci_mode) {
    attn::PrintOptions options;
    options.precision = 4;
    options.threshold = attn::no_threshold;
    options.sci_mode = sci_mode;
    return options;
}

void measure_forms(const Numbers& numbers, attn::SciMode sci_mode, int rounds) {
    const bool scientific = sci_mode == attn::SciMode::on;
    const attn::Document document = document_with(numbers.tensor);
    const attn::PrintOptions options = four_decimals(sci_mode);
    std::vector<char> buffer(numbers.tensor.size() * 16 + 400);
    std::size_t bytes = 0;
    const auto written = [&](TextForm form) {
        return [&, form] {
            attn::render_text(document, form, options, attn::Words::none,
                              [&bytes](std::string_view piece) { bytes += piece.size(); });
        };
    };
    const std::vector<double> seconds = seconds_of_all(
        {[&] {
             write_by_to_chars(
                 numbers.tensor,
                 scientific ? std::chars_format::scientific : std::chars_format::fixed, buffer);
         },
         written(TextForm::plain), written(TextForm::torch), written(TextForm::numpy)},
        rounds);
    const auto rate = [&](double time) {
        return static_cast<double>(numbers.tensor.size()) / time * 1e-6;
    };
    fmt::print("{:15} {}  {:8.1f}", numbers.name, scientific ? "%.4e" : "%.4f", rate(seconds[0]));
    for (std::size_t i = 1; i < seconds.size(); ++i) {
        fmt::print("  {:8.1f} {:5.1f}x", rate(seconds[i]), seconds[0] / seconds[i]);
    }
    fmt::print("\n");
    if (bytes == 0) std::abort();
}

/// The seconds that a Python script prints; empty if Python or a module of the script is missing.
std::vector<double> seconds_of_python(const std::string& script) {
    std::fflush(stdout);
    std::FILE* pipe = ::popen(("/usr/bin/python3 -c \"" + script + "\" 2>&1").c_str(), "r");
    std::vector<double> seconds;
    double value = 0;
    while (pipe != nullptr && std::fscanf(pipe, "%lf", &value) == 1) seconds.push_back(value);
    if (pipe != nullptr) ::pclose(pipe);
    return seconds;
}

void measure_peers(const std::string& path, int rounds) {
    std::mt19937 generator(1);
    std::normal_distribution<double> normal;
    const attn::Tensor tensor =
        filled<float>([&](std::size_t) { return normal(generator); }, file_rows);
    const attn::Document document = document_with(tensor);
    const attn::PrintOptions options = four_decimals(attn::SciMode::off);
    const auto seconds_to_file = [&](TextForm form) {
        // A new file each time: if it replaced one, the file system would flush it at once.
        std::filesystem::remove(path);
        return seconds_of([&] {
            attn::OutputFile file(path);
            attn::render_text(document, form, options, attn::Words::none,
                              [&file](std::string_view text) { file.write(text); });
            file.commit();
        });
    };
    const std::string script = fmt::format(
        "import os, time, numpy as np\n"
        "def timed(action):\n"
        "    start = time.process_time(); action(); return time.process_time() - start\n"
        "x = np.random.RandomState(1).randn({0}, {1}).astype('f4')\n"
        "for rows in 1, 0:  # the first call for a new file imports what it needs\n"
        "    os.remove('{2}'); np.savetxt('{2}', x[:rows])\n"
        "os.remove('{2}')\n"
        "print(timed(lambda: np.savetxt('{2}', x, fmt='%.4f')))\n"
        "import torch\n"
        "torch.set_num_threads(1)\n"
        "torch.set_printoptions(precision=4, threshold=float('inf'), sci_mode=False)\n"
        "y = torch.from_numpy(x[:{0} // 100])\n"
        "print(100 * timed(lambda: str(y)))\n",
        file_rows, columns, path);

    std::vector<std::vector<double>> correct(2);
    std::vector<std::vector<double>> actual(2);
    for (int round = 0; round < rounds; ++round) {
        correct[0].push_back(seconds_to_file(TextForm::plain));
        correct[1].push_back(seconds_to_file(TextForm::torch));
        const std::vector<double> seconds = seconds_of_python(script);
        for (std::size_t i = 0; i < seconds.size() && i < 2; ++i) actual[i].push_back(seconds[i]);
    }
    const auto rate = [&](const std::vector<double>& seconds) {
        return static_cast<double>(tensor.size()) / median(seconds) * 1e-6;
    };
    fmt::print("\nto a file, million numbers a second (our form, the peer, ratio)\n");
    const char* const names[] = {"plain, numpy.savetxt", "torch, str(tensor)"};
    for (std::size_t i = 0; i < 2; ++i) {
        if (actual[i].empty()) {
            fmt::print("{:22} {:8.1f}  the peer is not installed here\n", names[i],
                       rate(correct[i]));
            continue;
        }
        fmt::print("{:22} {:8.1f} {:8.2f} {:7.1f}x\n", names[i], rate(correct[i]), rate(actual[i]),
                   rate(correct[i]) / rate(actual[i]));
    }
}

void measure_bytes(const std::string& path, int rounds) {
    const attn::Tensor tensor({"feature"}, attn::Array<float>::filled({large}, 0.5F));
    const std::vector<double> correct = seconds_of_all({[&] {
                                                           attn::OutputFile file(path);
                                                           attn::write_npy(file, tensor);
                                                           file.commit();
                                                       }},
                                                       rounds);
    const auto rate = [](double seconds) { return 4e-6 * static_cast<double>(large) / seconds; };
    fmt::print("\n.npy of 400 MB       {:8.0f} MB a second\n", rate(correct[0]));
    const std::vector<double> actual =
        seconds_of_python(fmt::format("import time, numpy as np\n"
                                      "y = np.full({0}, 0.5, 'f4')\n"
                                      "for _ in range({1}):\n"
                                      "    start = time.process_time(); np.save('{2}.npy', y)\n"
                                      "    print(time.process_time() - start)\n",
                                      large, rounds, path));
    if (!actual.empty()) {
        fmt::print("numpy.save           {:8.0f} MB a second\n", rate(median(actual)));
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    const auto flag = [&](const char* name) { return std::erase(words, name) > 0; };
    const bool peers = flag("--peers");
    const bool bytes = flag("--bytes");
    const std::filesystem::path folder =
        !words.empty() ? std::filesystem::path(words[0]) : std::filesystem::temp_directory_path();
    const int rounds = words.size() > 1 ? std::max(1, std::atoi(words[1].c_str())) : 15;
    const std::string path = (folder / "attn-output-bench").string();

    fmt::print("million numbers a second, and how many times std::to_chars\n");
    fmt::print("{:21} {:>8}  {:>15} {:>16} {:>16}\n", "", "to_chars", "plain", "torch", "numpy");
    const std::vector<Numbers> kinds = kinds_of_numbers();
    for (const Numbers& numbers : kinds) measure_forms(numbers, attn::SciMode::off, rounds);
    for (const Numbers& numbers : kinds) measure_forms(numbers, attn::SciMode::on, rounds);
    if (peers) measure_peers(path, std::min(rounds, 5));
    if (bytes) measure_bytes(path, std::min(rounds, 3));
    for (const char* ending : {"", ".npy"}) std::filesystem::remove(path + ending);
}
