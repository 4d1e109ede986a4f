/* A standard normal behind the BridgeStan C interface, as an unthreaded build would offer it: a model for tests. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int dim;
  bool has_outputs; /* t = 2 x.1, which fails above 2, and y = 3 x.1, which fails above 1 */
} bs_model;

static int n_inside = 0; /* evaluations going on at this moment: without STAN_THREADS at most one is allowed */
static int n_overlaps = 0;

bs_model *bs_model_construct(const char *data, unsigned seed, char **error) {
  if (strstr(data, "fail")) {
    *error = strdup("told to fail");
    return NULL;
  }
  bs_model *model = malloc(sizeof(bs_model));
  model->dim = 2;
  model->has_outputs = strstr(data, "outputs") != NULL;
  return model;
}
void bs_model_destruct(bs_model *model) { free(model); }
void bs_free_error_msg(char *error) { free(error); }
const char *bs_name(const bs_model *model) { return "normal"; }
const char *bs_model_info(const bs_model *model) { return "STAN_THREADS=false"; }
const char *bs_param_names(const bs_model *model, bool tp, bool gq) {
  if (!model->has_outputs) return "x.1,x.2";
  return tp ? gq ? "x.1,x.2,t,y" : "x.1,x.2,t" : gq ? "x.1,x.2,y" : "x.1,x.2";
}
const char *bs_param_unc_names(const bs_model *model) { return "x.1,x.2"; }
int bs_param_num(const bs_model *model, bool tp, bool gq) {
  return model->dim + (model->has_outputs ? tp + gq : 0);
}
int bs_param_unc_num(const bs_model *model) { return model->dim; }
int bs_param_unconstrain(const bs_model *model, const double *theta, double *q, char **error) {
  memcpy(q, theta, model->dim * sizeof(double));
  return 0;
}

int bs_param_constrain(const bs_model *model, bool tp, bool gq, const double *q, double *out, void *rng, char **error) {
  bool with_t = model->has_outputs && tp, with_y = model->has_outputs && gq;
  if (((with_t || with_y) && q[0] > 2.0) || (with_y && q[0] > 1.0)) {
    *error = strdup(q[0] > 2.0 ? "t is too large" : "y is too large");
    return 1; /* and nothing is written, as by BridgeStan */
  }
  memcpy(out, q, model->dim * sizeof(double));
  if (with_t) out[model->dim] = 2.0 * q[0];
  if (with_y) out[model->dim + with_t] = 3.0 * q[0];
  return 0;
}
int bs_log_density_gradient(const bs_model *model, bool propto, bool jacobian, const double *q, double *value,
                            double *gradient, char **error) {
  if (__atomic_add_fetch(&n_inside, 1, __ATOMIC_SEQ_CST) > 1) __atomic_add_fetch(&n_overlaps, 1, __ATOMIC_SEQ_CST);
  for (volatile int wait = 0; wait < 2000; wait++) {}
  *value = propto && jacobian ? -0.5 * (q[0] * q[0] + q[1] * q[1]) : 1e9;
  gradient[0] = -q[0];
  gradient[1] = -q[1];
  __atomic_add_fetch(&n_inside, -1, __ATOMIC_SEQ_CST);
  return 0;
}
int test_overlaps(void) { return n_overlaps; }
void *bs_rng_construct(unsigned seed, char **error) { return malloc(1); }
void bs_rng_destruct(void *rng) { free(rng); }
