/* Writes the tiny model to a folder, for tools/make_goldens.py and for trying the program without a download.
 */
#include <stdio.h>

#include "tiny_model.h"

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: make_tiny_model DIR\n");
        return 2;
    }
    if (!tiny_model_write(argv[1])) return 0;
    fprintf(stderr, "make_tiny_model: cannot write %s\n", argv[1]);
    return 1;
}
