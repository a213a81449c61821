// How Python fills a recipe, and asks what is drawn from it.
#pragma once
#include <nanobind/nanobind.h>

#include "plan.h"

void require_sound(const danlu::Recipe &recipe); // raises ValueError
nanobind::tuple fields(const danlu::Geometry &geometry);
void bind_recipe(nanobind::module_ &m);
