// Hares and lynxes by Lotka and Volterra's equations, after the case study of Carpenter (2018) in Stan's documentation.
functions {
  vector rates(real t, vector z, real alpha, real beta, real gamma, real delta) {
    return [(alpha - beta * z[2]) * z[1], (-gamma + delta * z[1]) * z[2]]';
  }
}
data {
  int<lower=0> n;
  array[n] real years;
  array[2] real<lower=0> first;
  array[n, 2] real<lower=0> pelts;
}
parameters {
  array[4] real<lower=0> theta;
  vector<lower=0>[2] z_init;
  array[2] real<lower=0> sigma;
}
transformed parameters {
  array[n] vector[2] z = ode_rk45_tol(rates, z_init, 0, years, 1e-5, 1e-3, 500, theta[1], theta[2], theta[3], theta[4]);
}
model {
  theta[{1, 3}] ~ normal(1, 0.5);
  theta[{2, 4}] ~ normal(0.05, 0.05);
  sigma ~ lognormal(-1, 1);
  z_init ~ lognormal(log(10), 1);
  for (k in 1:2) {
    first[k] ~ lognormal(log(z_init[k]), sigma[k]);
    pelts[ : , k] ~ lognormal(log(z[ : , k]), sigma[k]);
  }
}
