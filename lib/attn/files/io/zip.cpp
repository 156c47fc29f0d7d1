#include "attn/files/io/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr std::string_view local_magic{"PK\x03\x04"};
constexpr std::string_view entry_magic{"PK\x01\x02"};
constexpr std::string_view end_magic{"PK\x05\x06"};
constexpr std::string_view end64_magic{"PK\x06\x06"};
constexpr std::string_view locator_magic{"PK\x06\x07"};
// zlib returns the initial value for a null pointer.
std::uint32_t crc(std::uint32_t before, const char* bytes, std::size_t size) {
    if (size == 0) return before;
    return static_cast<std::uint32_t>(
        ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes), size));
}

constexpr std::size_t local_size = 30;
constexpr std::size_t entry_size = 46;
constexpr std::size_t end_size = 22;
constexpr std::size_t end64_size = 56;
constexpr std::size_t locator_size = 20;

constexpr std::uint64_t in_zip64_record = 0xFFFFFFFF;
constexpr unsigned encrypted = 1;
constexpr unsigned stored = 0;
constexpr unsigned deflated = 8;

// Arrays of zeros reach almost the best ratio of deflate and are valid; only an archive that would
// also fill the memory is refused as an attack.
constexpr std::uint64_t large = 1ULL << 28U;
constexpr std::uint64_t usual_unpacked_per_byte = 100;

[[noreturn]] void fail_in(const std::string& label, const std::string& what) {
    throw InputError(label + ": " + what + ": save it again, as with numpy.savez");
}

std::uint64_t number(std::string_view bytes, std::size_t offset, std::size_t size) {
    return little_endian(bytes.substr(offset), size);
}

// The place of the directory.
struct Directory {
    std::uint64_t entries = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::string comment{};  // comment of the archive
};

Directory find_directory(const InputFile& file) {
    // The last record ends the file, except for a comment of at most 64 KiB.
    const std::uint64_t start =
        file.size() - std::min<std::uint64_t>(file.size(), end_size + longest_zip_comment);
    const std::string tail = file.text(start, end_size + longest_zip_comment);
    std::size_t end = tail.rfind(end_magic);
    while (end != tail.npos && (tail.size() - end < end_size ||
                                number(tail, end + 20, 2) != tail.size() - end - end_size)) {
        end = end == 0 ? tail.npos : tail.rfind(end_magic, end - 1);
    }
    if (end == tail.npos) {
        fail_in(file.label(), "the directory at the end of the archive is missing");
    }
    const std::string comment = tail.substr(end + end_size);
    const Directory plain{number(tail, end + 10, 2), number(tail, end + 12, 4),
                          number(tail, end + 16, 4), comment};

    // A locator before it may point to a record with larger numbers.
    if (start + end < locator_size) return plain;
    const std::string locator = file.text(start + end - locator_size, locator_size);
    if (!locator.starts_with(locator_magic)) return plain;
    const std::string record = file.text(number(locator, 8, 8), end64_size);
    if (record.size() < end64_size || !record.starts_with(end64_magic)) {
        fail_in(file.label(), "the directory of the archive is damaged");
    }
    return {number(record, 32, 8), number(record, 40, 8), number(record, 48, 8), comment};
}

// Reads the numbers that do not fit 32 bits from the extra record.
bool take_zip64_numbers(ZipEntry& entry, std::string_view extra) {
    std::string_view record;
    while (extra.size() >= 4 && record.empty()) {
        const std::size_t size = std::min<std::size_t>(number(extra, 2, 2), extra.size() - 4);
        if (number(extra, 0, 2) == 1) record = extra.substr(4, size);
        extra.remove_prefix(4 + size);
    }
    for (std::uint64_t* value : {&entry.unpacked, &entry.packed, &entry.header}) {
        if (*value != in_zip64_record) continue;
        if (record.size() < 8) return false;
        *value = number(record, 0, 8);
        record.remove_prefix(8);
    }
    return true;
}

}  // namespace

std::string zip_comment(const InputFile& file) {
    return file.text(0, local_magic.size()) == local_magic ? find_directory(file).comment : "";
}

std::vector<ZipEntry> zip_directory(const InputFile& file) {
    const auto damaged = [&file] {
        fail_in(file.label(), "the directory of the archive is damaged");
    };
    const Directory directory = find_directory(file);
    if (directory.offset > file.size() || directory.size > file.size() - directory.offset) {
        damaged();
    }
    const std::string bytes = file.text(directory.offset, directory.size);
    std::vector<ZipEntry> entries;
    std::uint64_t claimed = 0, swollen = 0;
    std::string_view rest = bytes;
    while (entries.size() < directory.entries) {
        if (rest.size() < entry_size || !rest.starts_with(entry_magic)) damaged();
        ZipEntry entry;
        entry.flags = static_cast<unsigned>(number(rest, 8, 2));
        entry.method = static_cast<unsigned>(number(rest, 10, 2));
        entry.checksum = static_cast<std::uint32_t>(number(rest, 16, 4));
        entry.packed = number(rest, 20, 4);
        entry.unpacked = number(rest, 24, 4);
        entry.header = number(rest, 42, 4);
        const std::size_t name = number(rest, 28, 2);
        const std::size_t extra = number(rest, 30, 2);
        const std::size_t whole = entry_size + name + extra + number(rest, 32, 2);
        if (whole > rest.size()) damaged();
        entry.name = rest.substr(entry_size, name);
        if (!take_zip64_numbers(entry, rest.substr(entry_size + name, extra))) damaged();
        // Entries that share compressed bytes would multiply the unpacked size.
        if (entry.packed > file.size() - claimed) {
            fail_in(file.label() + ": array " + quoted_text(entry.name),
                    "the arrays claim more compressed bytes than the file has");
        }
        claimed += entry.packed;
        // Checked before anything is unpacked.
        const bool swells =
            entry.unpacked / usual_unpacked_per_byte > std::max<std::uint64_t>(entry.packed, 1);
        swollen += swells ? std::min(entry.unpacked, 2 * large) : 0;
        if (swollen > large) {
            fail_in(file.label() + ": array " + quoted_text(entry.name),
                    "with it the archive claims to unpack from " + std::to_string(claimed) +
                        " to more than " + std::to_string(large) + " bytes");
        }
        entries.push_back(std::move(entry));
        rest.remove_prefix(whole);
    }
    return entries;
}

struct ZipEntryReader::Inflater {
    z_stream stream{};
    std::array<char, 64 * 1024> packed;
    Inflater() {
        if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
    ~Inflater() { ::inflateEnd(&stream); }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
};

ZipEntryReader::ZipEntryReader(const InputFile& file, const ZipEntry& entry, std::string label)
    : file_(file), entry_(entry), label_(std::move(label)), left_(entry.packed) {
    check_claims();
    find_bytes();
    if (entry_.method == deflated) inflater_ = std::make_unique<Inflater>();
}

ZipEntryReader::~ZipEntryReader() = default;

void ZipEntryReader::fail(const std::string& what) const { fail_in(label_, what); }

void ZipEntryReader::check_claims() const {
    if ((entry_.flags & encrypted) != 0) fail("the array is encrypted");
    if (entry_.method != stored && entry_.method != deflated) {
        fail("unknown compression method " + std::to_string(entry_.method));
    }
    const std::uint64_t ratio = entry_.unpacked / std::max<std::uint64_t>(entry_.packed, 1);
    const bool impossible =
        entry_.method == stored ? entry_.unpacked != entry_.packed : ratio > most_unpacked_per_byte;
    if (impossible) {
        fail("it claims to unpack from " + std::to_string(entry_.packed) + " to " +
             std::to_string(entry_.unpacked) + " bytes");
    }
}

void ZipEntryReader::find_bytes() {
    const std::string header = file_.text(entry_.header, local_size);
    const bool whole = header.size() == local_size && header.starts_with(local_magic);
    const std::size_t name_size = whole ? number(header, 26, 2) : 0;
    if (!whole || number(header, 8, 2) != entry_.method ||
        file_.text(entry_.header + local_size, name_size) != entry_.name) {
        fail("the entry does not agree with the directory of the archive");
    }
    place_ = entry_.header + local_size + name_size + number(header, 28, 2);
    if (place_ > file_.size() || left_ > file_.size() - place_) {
        fail("the compressed bytes are damaged or end early");
    }
}

void ZipEntryReader::read(char* to, std::size_t size) {
    if (inflater_) {
        inflate(to, size);
    } else {
        if (size > left_) fail("the compressed bytes are damaged or end early");
        file_.read(place_, to, size);
        place_ += size;
        left_ -= size;
    }
    checksum_ = crc(checksum_, to, size);
}

void ZipEntryReader::inflate(char* to, std::size_t size) {
    z_stream& stream = inflater_->stream;
    while (size > 0) {
        if (stream.avail_in == 0) {
            const std::size_t piece = std::min<std::uint64_t>(left_, inflater_->packed.size());
            file_.read(place_, inflater_->packed.data(), piece);
            place_ += piece;
            left_ -= piece;
            stream.next_in = reinterpret_cast<unsigned char*>(inflater_->packed.data());
            stream.avail_in = static_cast<unsigned>(piece);
        }
        const auto room = static_cast<unsigned>(std::min<std::size_t>(size, 1U << 30U));
        stream.next_out = reinterpret_cast<unsigned char*>(to);
        stream.avail_out = room;
        const int status = ::inflate(&stream, Z_NO_FLUSH);
        const std::size_t given = room - stream.avail_out;
        to += given;
        size -= given;
        const bool stuck = given == 0 && stream.avail_in == 0 && left_ == 0;
        if ((status != Z_OK && status != Z_STREAM_END) || stuck ||
            (status == Z_STREAM_END && size > 0)) {
            fail("the compressed bytes are damaged or end early");
        }
    }
}

void ZipEntryReader::finish() {
    if (checksum_ != entry_.checksum) fail("the checksum is wrong: the archive is damaged");
}

namespace {

struct Field {
    std::uint64_t value;
    std::size_t size;
};

// Joins the fields of a record, little-endian.
std::string record_of(std::initializer_list<Field> fields) {
    std::string bytes;
    for (const auto& [value, size] : fields) bytes += little_endian_bytes(value, size);
    return bytes;
}

std::uint64_t in_32_bits(std::uint64_t value) { return std::min(value, in_zip64_record); }

// Returns the common part of local headers and directory entries: version to lengths of the names.
std::string description(const ZipEntry& entry, std::size_t extra) {
    constexpr std::uint64_t names_are_utf8 = 1U << 11U;
    constexpr std::uint64_t first_of_january_1980 = 1U << 5U | 1U;
    const std::uint64_t version = extra > 0 ? 45 : 20;
    return record_of({{version, 2},
                      {names_are_utf8, 2},
                      {stored, 2},
                      {first_of_january_1980 << 16U, 4},
                      {entry.checksum, 4},
                      {in_32_bits(entry.packed), 4},
                      {in_32_bits(entry.unpacked), 4},
                      {entry.name.size(), 2},
                      {extra, 2}});
}

// Returns the record of numbers that do not fit 32 bits, in the order of the format.
std::string zip64_record(std::initializer_list<std::uint64_t> numbers) {
    std::string values;
    for (const std::uint64_t each : numbers) {
        if (each >= in_zip64_record) values += record_of({{each, 8}});
    }
    return values.empty() ? "" : record_of({{1, 2}, {values.size(), 2}}) + values;
}

}  // namespace

void ZipWriter::write(std::string_view bytes) {
    file_.write(bytes);
    position_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::string_view first, std::string_view second) {
    const std::uint64_t size = first.size() + second.size();
    ZipEntry entry{.name = name, .packed = size, .unpacked = size, .header = position_};
    for (const std::string_view part : {first, second}) {
        entry.checksum = crc(entry.checksum, part.data(), part.size());
    }
    const std::string extra = zip64_record({entry.unpacked, entry.packed});
    write(std::string(local_magic) + description(entry, extra.size()) + name + extra);
    write(first);
    write(second);
    entries_.push_back(std::move(entry));
}

void ZipWriter::finish(std::string_view comment) {
    if (comment.size() > longest_zip_comment) throw std::logic_error("a comment too long");
    const std::uint64_t start = position_;
    for (const ZipEntry& entry : entries_) {
        const std::string extra = zip64_record({entry.unpacked, entry.packed, entry.header});
        // After the description: no comment, first disk, no attributes.
        write(std::string(entry_magic) + record_of({{45, 2}}) + description(entry, extra.size()) +
              record_of({{0, 8}, {0, 2}, {in_32_bits(entry.header), 4}}) + entry.name + extra);
    }
    const std::uint64_t size = position_ - start, count = entries_.size();
    const std::uint64_t few = std::min<std::uint64_t>(count, 0xFFFF);
    std::string end;
    if (count >= 0xFFFF || position_ >= in_zip64_record) {
        const std::string record = record_of({{end64_size - 12, 8},
                                              {45, 2},
                                              {45, 2},
                                              {0, 8},
                                              {count, 8},
                                              {count, 8},
                                              {size, 8},
                                              {start, 8}});
        const std::string locator = record_of({{0, 4}, {position_, 8}, {1, 4}});
        end = std::string(end64_magic) + record + std::string(locator_magic) + locator;
    }
    end += std::string(end_magic) + record_of({{0, 4},
                                               {few, 2},
                                               {few, 2},
                                               {in_32_bits(size), 4},
                                               {in_32_bits(start), 4},
                                               {comment.size(), 2}});
    write(end);
    write(comment);
}

}  // namespace attn
