/* Lets an ordinary main run on a bare chip; what it returns is how the program ends. */
#include "baremetal.h"

int main(void);

void edgecc_main(void) { edgecc_leave(main()); }
