
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "tests/files/io/messages.hpp"

using namespace attn;

namespace {

Tensor table(std::string_view text) { return read_tensors_from_bytes(text, "t").at(0).tensor; }

std::string note_of(std::string_view text) {
    std::string notes;
    read_tensors_from_bytes(text, "t", [&](std::string_view note) { notes += note; });
    return notes;
}

const Array<double> two_by_two{{1.0, 2.5}, {-3.0, 4000.0}};

}  // namespace

TEST_SUITE("csv") {
    TEST_CASE("every usual delimiter gives the same table") {
        for (const char* text : {
                 "1,2.5\n-3,4e3\n",
                 "1;2.5\n-3;4e3\n",
                 "1\t2.5\n-3\t4e3\n",
                 "  1   2.5\n -3 \t 4e3",
                 " 1 , 2.5 \r\n -3 , 4e3 \r\n",
                 "\"1\",\"2.5\"\n\"-3\",\"4e3\"\n",
                 "left,right\n1,2.5\n-3,4e3\n\n\n",
                 "# about, this; table\n\n\xEF\xBB\xBFx,y # names\n+1,2.5 # a row\n-3,4e3\n#end",
                 "\xEF\xBB\xBF"
                 "1,2.5\n-3,4e3\n",
             }) {
            CAPTURE(text);
            CHECK(table(text).as<double>() == two_by_two);
        }
    }

    TEST_CASE("a single number is a table of one row and one column") {
        CHECK(table("7").shape() == Shape{1, 1});
    }

    TEST_CASE("nan and the infinities are numbers") {
        const Tensor tensor = table("nan,inf,-inf,-0,NaN,Infinity");
        CHECK(std::isnan(tensor.at(0)));
        CHECK(tensor.at(1) == HUGE_VAL);
        CHECK(tensor.at(2) == -HUGE_VAL);
        CHECK(std::signbit(tensor.at(3)));
        CHECK(std::isnan(tensor.at(4)));
        CHECK(tensor.at(5) == HUGE_VAL);
    }

    TEST_CASE("a line of names is skipped with a note, a mistyped line of numbers is not") {
        CHECK(note_of("left,right\n1,2\n") == "t: the first line was read as column names");
        CHECK(note_of("1,2\n3,4\n").empty());
        for (const char* text : {"1.0,2.0.1\n3,4\n", "NA,1\n3,4\n", "1e400,1e400\n3,4\n",
                                 "1,x\n3,4\n", "1O,2O\n3,4\n", "NA,NA\n3,4\n", "-,1\n3,4\n"}) {
            CAPTURE(text);
            CHECK(refusal_of(text, "t").starts_with("t: line 1, column "));
        }
    }

    TEST_CASE("the row names and column numbers of pandas and R are not numbers of the table") {
        for (const char* text : {
                 ",0,1\n0,1.0,2.5\n1,-3.0,4000.0\n",                  // DataFrame.to_csv
                 "0,1\n1.0,2.5\n-3.0,4000.0\n",                       // with index=False
                 ",a,b\nlife,1.0,2.5\nis,-3.0,4000.0\n",              // with names for both
                 "\"\",\"V1\",\"V2\"\n\"1\",1,2.5\n\"2\",-3,4000\n",  // write.csv
                 "\"V1\" \"V2\"\n\"1\" 1 2.5\n\"2\" -3 4000\n",       // write.table
             }) {
            CAPTURE(text);
            CHECK(table(text).as<double>() == two_by_two);
            CHECK(note_of(text).starts_with("t: the first line was read as column names"));
        }
        // A header of integers may as well be a row of a table of integers.
        CHECK(table("0,1,2\n3,4,5\n").shape() == Shape{2, 3});
        CHECK(table("0,1\n1,0\n0.5,0.5\n").shape() == Shape{3, 2});
    }

    TEST_CASE("a first column of words names the rows, with and without names of columns") {
        for (const char* text : {"the,1,2.5\ncat,-3,4000\n", "word,a,b\nthe,1,2.5\ncat,-3,4000\n",
                                 ",a,b\nthe,1,2.5\ncat,-3,4000\n"}) {
            CAPTURE(text);
            const auto read = read_tensors_from_bytes(text, "t");
            CHECK(read[0].tensor.as<double>() == two_by_two);
            CHECK(read[0].row_names == std::vector<std::string>{"the", "cat"});
        }
        CHECK(note_of("the,1\ncat,2\n") == "t: the first column was read as row names");
        CHECK(read_tensors_from_bytes(",a\n0,1\n1,2\n", "t")[0].row_names.empty());
        CHECK(refusal_of("the,1\ncat,2\n3,4\n", "t").starts_with("t: line 3, column 1: '3' is a "));
    }

    TEST_CASE("True and False are a table of bool, but are refused among numbers") {
        CHECK(table("True,False\nFalse,True\n").as<bool>() ==
              Array<bool>{{true, false}, {false, true}});
        CHECK(table("TRUE\tFALSE\n").as<bool>() == Array<bool>{{true, false}});
        CHECK(refusal_of("True,1\n", "t").find("among numbers") != std::string::npos);
    }

    TEST_CASE("a carriage return alone ends a line") {
        CHECK(table("1 2.5\r-3 4e3\r").as<double>() == two_by_two);
        CHECK(table("1,2.5\r-3,4e3").as<double>() == two_by_two);
        // Decimal commas, with a semicolon or a tab between the fields.
        CHECK(table("1;2,5\n-3,0;4e3\n").as<double>() == two_by_two);
        CHECK(table("1\t2,5\n-3,0\t4e3\n").as<double>() == two_by_two);
        CHECK(table("1,\t2.5\n-3,\t4e3\n").as<double>() == two_by_two);
    }

    TEST_CASE("an error names line and column") {
        CHECK(refusal_of("a,b\n1,2\n1,x\n", "t.csv") ==
              "t.csv: line 3, column 2: 'x' is not a number: write it as 1.5 or 1e-3");
        CHECK(refusal_of("1,2\n1,,\n", "t.csv") ==
              "t.csv: line 2 has 3 columns, not 2 as the lines before: all rows need the same "
              "length");
        CHECK(refusal_of("1,2\n3,\n", "t.csv").starts_with("t.csv: line 2, column 2: ''"));
        CHECK(refusal_of("1,2\n\n3,4\n", "t.csv") ==
              "t.csv: line 2 is blank, between two rows: remove it (a file has one table)");
        CHECK(refusal_of("1,\"2\n", "t.csv").starts_with("t.csv: line 1 has an open quote"));
        CHECK(refusal_of("1,\"2\" 5\n", "t.csv").starts_with("t.csv: line 1 continues after"));
        CHECK(refusal_of("1,2,5;2,5\n3,5;4,5\n", "t.csv")
                  .starts_with("t.csv: line 1, column 1: '1,2,5'"));
        for (const char* text : {"", "\n\n", "# nothing\n", "only,names\n"}) {
            CHECK(refusal_of(text, "t.csv").starts_with("t.csv: "));
        }
    }
}
