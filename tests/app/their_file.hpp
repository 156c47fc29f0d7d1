#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/support/program.hpp"

inline attn::Tensor full_of(const attn::Shape& shape, float number) {
    attn::Array<float> cells = attn::empty_array<float>(shape);
    for (float& cell : cells) cell = number;
    return {attn::Axes(shape.size(), "axis"), cells};
}

/// The tensors of a walk, from which a user's file is assembled.
struct TheirFile {
    program::Folder folder;
    std::string mine = folder / "mine.npz";
    std::map<std::string, attn::Tensor> walk;
    std::vector<std::pair<std::string, attn::Tensor>> file{};

    explicit TheirFile(const std::string& flags) {
        REQUIRE(program::run(flags + " -o " + (folder / "walk.npz")).exit_code == 0);
        for (const attn::NamedTensor& each : attn::read_tensors(folder / "walk.npz")) {
            walk.emplace(each.name, each.tensor);
        }
    }
    void save(const std::string& name, const std::string& step) {
        file.emplace_back(name, walk.at(step));
    }
    program::Result diagnose(const std::string& flags = "", const std::string& comment = "") {
        std::vector<attn::TensorRef> arrays;
        for (const auto& [name, tensor] : file) arrays.push_back({name, tensor});
        attn::OutputFile out(mine);
        attn::write_npz(out, arrays, comment);
        out.commit();
        return program::run("diagnose " + mine + " " + flags);
    }
};
