# The C++ classes. What their members do, and their arguments, is documented at the C functions that they call.
@INCLUDE               = $(DNNL_TP_DOC_C)
PROJECT_NAME           = "dnnl_tp C++"
OPTIMIZE_OUTPUT_FOR_C  = NO
WARN_NO_PARAMDOC       = NO
WARN_IF_INCOMPLETE_DOC = NO
