// A drug that is absorbed from the gut and eliminated by Michaelis and Menten's kinetics: one compartment, one dose.
functions {
  vector rates(real t, vector z, real absorption, real half, real fastest, real dose) {
    return [absorption * dose * exp(-absorption * t) - fastest * z[1] / (half + z[1])]';
  }
}
data {
  int<lower=1> n;
  array[n] real<lower=0> times;
  real<lower=0> dose;
  array[n] real<lower=0> y;
}
parameters {
  real<lower=0> absorption;
  real<lower=0> half;
  real<lower=0> fastest;
  real<lower=0> sigma;
}
model {
  absorption ~ lognormal(0, 1);
  half ~ lognormal(0, 1);
  fastest ~ lognormal(0, 1);
  sigma ~ lognormal(-1, 1);
  array[n] vector[1] z = ode_rk45_tol(rates, [0]', 0, times, 1e-6, 1e-6, 1000, absorption, half, fastest, dose);
  for (i in 1:n) {
    y[i] ~ lognormal(log(z[i, 1]), sigma);
  }
}
