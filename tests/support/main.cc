// The main() of every test binary: googletest's, with fixed defaults that make a run reproducible.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
