data {
  int<lower=1> d;
  real<lower=0> nu;
  vector[d] m;
  matrix[d, d] precision;
}
parameters {
  vector[d] x;
}
model {
  target += -0.5 * (nu + d) * log1p(quad_form(precision, x - m) / nu);
}
