#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "attn/files/io/number_lists.hpp"
#include "attn/files/io/workbook.hpp"
#include "attn/files/io/zip.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::string_view book_part = "xl/workbook.xml";

/// The elements of an XML text in the order of their tags. Comments and declarations are skipped.
///
/// Why  a filled workbook is read for the values of its cells: four kinds of elements, whose text
/// has no elements inside.
class XmlElements {
public:
    explicit XmlElements(std::string_view text) : text_(text) {}

    /// Moves to the next tag; false at the end.
    bool next() {
        const std::size_t open = text_.find('<', at_);
        const std::size_t close = text_.find('>', open);
        if (close == text_.npos) return false;
        tag_ = text_.substr(open + 1, close - open - 1);
        at_ = close + 1;
        name_ = tag_.substr(0, tag_.find_first_of(" \t\r\n/", 1));
        if (const std::size_t colon = name_.find(':'); colon != name_.npos) {
            name_ = (name_[0] == '/' ? "/" : "") + std::string(name_.substr(colon + 1));
        }
        return true;
    }
    const std::string& name() const { return name_; }
    bool is_empty() const { return tag_.ends_with('/'); }
    std::string text() const { return plain(text_.substr(at_, text_.find('<', at_) - at_)); }
    std::string attribute(std::string_view name) const {
        const std::size_t at = tag_.find(" " + std::string(name) + "=\"");
        if (at == tag_.npos) return {};
        const std::size_t begin = at + name.size() + 3;
        return plain(tag_.substr(begin, tag_.find('"', begin) - begin));
    }

private:
    static std::string plain(std::string_view text) {
        return replaced_all(std::string(text), {{"&lt;", "<"},
                                                {"&gt;", ">"},
                                                {"&quot;", "\""},
                                                {"&apos;", "'"},
                                                {"&#39;", "'"},
                                                {"&#10;", "\n"},
                                                {"&amp;", "&"}});
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string_view tag_;
    std::string name_;
};

/// Returns the row and the column in `$B$5`.
SheetPlace address_in(std::string_view text) {
    SheetPlace at;
    for (const char c : text) {
        if (c == ':') break;
        if (c >= 'A' && c <= 'Z') at.column = at.column * 26 + (c - 'A' + 1);
        if (c >= '0' && c <= '9' && at.row < 10'000'000) at.row = at.row * 10 + (c - '0');
    }
    return {at.row - 1, at.column - 1};
}

/// Returns the number that a student typed as text: `0,397`, `39.7%`, `'0.397`.
std::optional<double> typed_number(std::string_view text) {
    std::string number = with_decimal_point(std::string(trimmed(text)));
    const bool is_percent = number.ends_with('%');
    if (is_percent)
        number =
            with_decimal_point(std::string(trimmed(number.substr(0, number.size() - 1)))) + "e-2";
    return parse_number(number);
}

/// The parts of a workbook that tensors are read from.
class WorkbookReader {
public:
    explicit WorkbookReader(const InputFile& file) : file_(file) {
        for (ZipEntry& entry : zip_directory(file)) {
            entries_.emplace(entry.name, std::move(entry));
        }
        read_book();
        read_strings();
    }

    std::string settings() {
        std::string text;
        for (const auto& [at, cell] : record()) {
            if (at.row == 0) text += cell.text;
        }
        return text;
    }

    /// A tensor of the record: its name, the name of its range, the moves of its axes, and whether
    /// it was `given`, `blank` or a `formula`.
    struct Recorded {
        std::string name, range, moves, kind;
    };
    std::vector<Recorded> recorded() {
        std::vector<Recorded> all;
        const auto& cells = record();
        for (std::int64_t row = 1; cells.contains({row, 0}); ++row) {
            const auto text = [&](std::int64_t column) {
                const auto found = cells.find({row, column});
                return found == cells.end() ? std::string() : found->second.text;
            };
            all.push_back({text(0), text(1), text(2), text(3)});
        }
        // The result of a formula is not the student's own work, so it is not judged.
        const bool is_exercise = std::ranges::count(all, "blank", &Recorded::kind) > 0;
        if (is_exercise)
            std::erase_if(all, [](const auto& each) { return each.kind == "formula"; });
        return all;
    }

    /// Errors  NotATensor if all its cells are empty.
    Tensor tensor(const Recorded& of) {
        const auto& [name, range, moves, kind] = of;
        const std::string where = ranges_.contains(range) ? ranges_[range] : "";
        const std::size_t mark = where.rfind('!');
        if (mark == where.npos) fail("no range is called " + quoted_text(range) + " any more");
        std::string sheet = where.substr(0, mark);
        std::erase(sheet, '\'');
        const auto origin = std::ranges::find(sheets_, sheet) - sheets_.begin();
        Axes axes;
        Shape shape;
        std::vector<std::vector<std::int64_t>> steps;
        for (std::size_t at = 0; at < moves.size();) {
            const std::size_t end = std::min(moves.find(';', at), moves.size());
            std::string_view rest = std::string_view(moves).substr(at, end - at);
            axes.emplace_back(rest.substr(0, rest.find(',')));
            std::vector<std::int64_t>& step = steps.emplace_back();
            while (rest.find(',') != rest.npos) {
                rest.remove_prefix(rest.find(',') + 1);
                step.push_back(0);
                std::from_chars(rest.data(), rest.data() + rest.size(), step.back());
            }
            if (step.size() != 4 || step[0] < 1 || step[0] > 1'000'000)
                fail("its record is damaged");
            shape.push_back(static_cast<std::size_t>(step[0]));
            at = end + 1;
        }
        if (element_count(shape) > 1'000'000) fail("its record is damaged");
        std::vector<double> numbers(element_count(shape));
        const SheetPlace first = address_in(std::string_view(where).substr(mark + 1));
        bool are_truths = !numbers.empty(), has_number = false;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            SheetPlace at = first;
            auto number = origin;
            const Shape indices = indices_of(i, shape);
            for (std::size_t axis = 0; axis < shape.size(); ++axis) {
                const auto index = static_cast<std::int64_t>(indices[axis]);
                at.row += index * steps[axis][1];
                at.column += index * steps[axis][2];
                number += index * steps[axis][3];
            }
            if (number >= static_cast<std::int64_t>(sheets_.size())) fail("a sheet is missing");
            const Cells& cells = cells_of(sheets_[static_cast<std::size_t>(number)]);
            const auto cell = cells.find(at);
            const ReadCell empty;
            const ReadCell& read = cell == cells.end() ? empty : cell->second;
            const std::optional<double> typed = read.number ? read.number : typed_number(read.text);
            if (!typed && !read.is_error && !trimmed(read.text).empty()) {
                fail(name + index_text(indices) + " is " + quoted_text(read.text) +
                     ", which is not a number");
            }
            const double value = typed.value_or(std::numeric_limits<double>::quiet_NaN());
            constexpr double infinite = 1e290;
            numbers[i] = std::abs(value) > infinite ? std::copysign(HUGE_VAL, value) : value;
            are_truths = are_truths && read.is_truth;
            has_number = has_number || typed || read.is_error;
        }
        if (!has_number)
            throw NotATensor(file_.label() + ": " + name, "its cells are empty", "fill them in");
        Array<double> array = empty_array<double>(shape);
        std::ranges::copy(numbers, array.data());
        Tensor read(axes, std::move(array));
        return are_truths ? cast(read, DType::boolean) : read;
    }

private:
    struct ReadCell {
        std::string text;
        std::optional<double> number;
        bool is_truth = false, is_error = false;
    };
    using Cells = std::map<SheetPlace, ReadCell>;

    [[noreturn]] void fail(const std::string& what) const {
        throw InputError(file_.label() + ": " + what);
    }

    std::string part(const std::string& name) const {
        const auto entry = entries_.find(name);
        if (entry == entries_.end()) return {};
        constexpr std::uint64_t most = std::uint64_t{256} << 20U;
        if (entry->second.unpacked > most) fail(quoted_text(name) + " has more than 256 MiB");
        std::string text(entry->second.unpacked, '\0');
        ZipEntryReader reader(file_, entry->second, file_.label());
        reader.read(text.data(), text.size());
        reader.finish();
        return text;
    }

    void read_book() {
        std::map<std::string, std::string> targets;
        const std::string relations = part("xl/_rels/workbook.xml.rels");
        for (XmlElements xml(relations); xml.next();) {
            const std::string target = xml.attribute("Target");
            targets[xml.attribute("Id")] =
                target.starts_with('/') ? target.substr(1) : "xl/" + target;
        }
        const std::string book = part(std::string(book_part));
        for (XmlElements xml(book); xml.next();) {
            if (xml.name() == "sheet") {
                sheets_.push_back(xml.attribute("name"));
                paths_[sheets_.back()] = targets[xml.attribute("r:id")];
            } else if (xml.name() == "definedName") {
                ranges_[xml.attribute("name")] = xml.text();
            }
        }
    }

    void read_strings() {
        const std::string text = part("xl/sharedStrings.xml");
        for (XmlElements xml(text); xml.next();) {
            if (xml.name() == "si") strings_.emplace_back();
            if (xml.name() == "t" && !xml.is_empty() && !strings_.empty()) {
                strings_.back() += xml.text();
            }
        }
    }

    const Cells& cells_of(const std::string& sheet) {
        const auto [found, is_new] = cells_.try_emplace(sheet);
        if (!is_new) return found->second;
        const std::string text = part(paths_[sheet]);
        ReadCell* cell = nullptr;
        std::string type;
        for (XmlElements xml(text); xml.next();) {
            if (xml.name() == "c") {
                cell = &found->second[address_in(xml.attribute("r"))];
                type = xml.attribute("t");
            } else if (cell != nullptr && xml.name() == "t" && !xml.is_empty()) {
                cell->text += xml.text();
            } else if (cell != nullptr && xml.name() == "v") {
                read_value(type, xml.text(), *cell);
            }
        }
        return found->second;
    }

    void read_value(const std::string& type, const std::string& text, ReadCell& cell) const {
        cell.is_error = type == "e";
        cell.is_truth = type == "b";
        if (type == "s") {
            std::size_t at = strings_.size();
            std::from_chars(text.data(), text.data() + text.size(), at);
            if (at >= strings_.size()) fail("a cell names a text that is not there");
            cell.text = strings_[at];
        } else if (type.empty() || type == "n" || type == "b") {
            cell.number = parse_number(text);
        } else if (!cell.is_error) {
            cell.text = text;
        }
    }

    const Cells& record() {
        if (!paths_.contains(workbook_record)) {
            fail("this workbook was not written by attn-explain: save its numbers as .csv");
        }
        return cells_of(workbook_record);
    }

    const InputFile& file_;
    std::map<std::string, ZipEntry> entries_;
    std::vector<std::string> sheets_, strings_;
    std::map<std::string, std::string> paths_, ranges_;
    std::map<std::string, Cells> cells_;
};

}  // namespace

bool looks_like_workbook(const InputFile& file) {
    return file.text(0, 4) == "PK\x03\x04" &&
           std::ranges::any_of(zip_directory(file),
                               [](const ZipEntry& entry) { return entry.name == book_part; });
}

std::vector<StoredArray> workbook_arrays(const InputFile& file) {
    const auto reader = std::make_shared<WorkbookReader>(file);
    std::vector<StoredArray> arrays;
    for (const auto& each : reader->recorded()) {
        arrays.push_back({each.name, [reader, each] {
                              return NamedTensor{each.name, reader->tensor(each)};
                          }});
    }
    return arrays;
}

std::string workbook_settings(const InputFile& file) {
    return looks_like_workbook(file) ? WorkbookReader(file).settings() : "";
}

}  // namespace attn
