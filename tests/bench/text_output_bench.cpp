// How fast tensors are written: numbers a second as text beside numpy.savetxt(fmt='%.4f'), and a
// .npy file of 400 MB beside numpy.save, where NumPy is installed. Best of several rounds.
//
//     text_output_bench [FOLDER] [ROUNDS]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include "attn/io/npy.hpp"
#include "attn/render/document.hpp"

namespace {

constexpr std::size_t rows = 20'000;
constexpr std::size_t columns = 100;
constexpr std::size_t large = 100'000'000;  // float32: 400 MB

double seconds_of(int rounds, const std::function<void()>& action) {
    using Clock = std::chrono::steady_clock;
    double best = 1e9;
    for (int round = 0; round < rounds; ++round) {
        const auto start = Clock::now();
        action();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

attn::Tensor normal_numbers() {
    std::mt19937 generator(1);
    std::normal_distribution<float> distribution;
    attn::Array<float> values = attn::empty_array<float>({rows, columns});
    for (float& value : values) value = distribution(generator);
    return {{"query", "feature"}, std::move(values)};
}

void measure_text(const attn::Tensor& tensor, const std::string& path, int rounds) {
    attn::Document document;
    document.sections.push_back({"x", "", "", "", "", "", tensor, "", true, "", {}});
    attn::PrintOptions options;
    options.threshold = attn::no_threshold;
    options.sci_mode = attn::SciMode::off;  // four decimals, as savetxt is asked for
    const auto report = [&](const char* name, const std::function<void(const attn::Sink&)>& form) {
        const double seconds = seconds_of(rounds, [&] {
            attn::OutputFile file(path);
            form([&file](std::string_view text) { file.write(text); });
            file.commit();
        });
        fmt::print("{:20} {:8.2f} million numbers a second\n", name,
                   static_cast<double>(tensor.size()) / seconds * 1e-6);
    };
    for (const auto& [name, form] : {std::pair{"plain", attn::TextForm::plain},
                                     {"torch", attn::TextForm::torch},
                                     {"numpy", attn::TextForm::numpy}}) {
        report(name, [&, form = form](const attn::Sink& sink) {
            attn::render_text(document, form, options, attn::Words::none, sink);
        });
    }
    report("json", [&](const attn::Sink& sink) { attn::render_json(document, sink); });
}

void measure_bytes(const std::string& path, int rounds) {
    const attn::Tensor tensor({"feature"}, attn::Array<float>(attn::Shape{large}, 0.5F));
    const double seconds = seconds_of(rounds, [&] {
        attn::OutputFile file(path);
        attn::write_npy(file, tensor);
        file.commit();
    });
    fmt::print("{:20} {:8.0f} MB a second\n", ".npy of 400 MB",
               4e-6 * static_cast<double>(large) / seconds);
}

void measure_numpy(const std::string& path, int rounds) {
    const std::string script = fmt::format(
        "import time, numpy as np\n"
        "def best(action):\n"
        "    times = []\n"
        "    for _ in range({0}):\n"
        "        start = time.perf_counter(); action()\n"
        "        times.append(time.perf_counter() - start)\n"
        "    return min(times)\n"
        "x = np.random.RandomState(1).randn({1}, {2}).astype('f4')\n"
        "s = best(lambda: np.savetxt('{3}', x, fmt='%.4f'))\n"
        "print('%-20s %8.2f million numbers a second' % ('numpy.savetxt', x.size / s * 1e-6))\n"
        "y = np.full({4}, 0.5, 'f4')\n"
        "s = best(lambda: np.save('{3}.npy', y))\n"
        "print('%-20s %8.0f MB a second' % ('numpy.save', y.nbytes / s * 1e-6))\n",
        rounds, rows, columns, path, large);
    const std::string command = "/usr/bin/python3 -c \"" + script + "\"";
    std::fflush(stdout);
    if (std::system(command.c_str()) != 0) fmt::print("NumPy is not installed here\n");
}

}  // namespace

int main(int argc, char** argv) {
    const std::filesystem::path folder =
        argc > 1 ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path();
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
    const std::string path = (folder / "attn-output-bench").string();
    measure_text(normal_numbers(), path, rounds);
    measure_bytes(path, rounds);
    measure_numpy(path, rounds);
    for (const char* ending : {"", ".npy"}) std::filesystem::remove(path + ending);
}
