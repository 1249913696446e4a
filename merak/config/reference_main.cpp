// Prints docs/configuration.md.
#include <cstdio>

#include "merak/config/reference.h"

int main() {
  return std::fputs(merak::config::reference_page().c_str(), stdout) < 0;
}
