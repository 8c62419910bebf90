/** Everything that a template can call, and the part of it that a condition can. */
import type { Library } from '../evaluate.ts';
import type { Vocabulary } from '../parser.ts';
import { listFilters } from './filters-of-lists.ts';
import { numberFilters } from './filters-of-numbers.ts';
import { textFilters } from './filters-of-texts.ts';
import { functions, methods } from './functions.ts';
import { tests } from './tests.ts';

const filters = new Map(Object.entries({ ...listFilters, ...numberFilters, ...textFilters }));

export const library: Library = {
  filters: new Map([...filters, ['e', filters.get('escape') as never]]),
  tests: new Map(Object.entries(tests)),
  functions: new Map(Object.entries(functions)),
  methods: new Map(Object.entries(methods)),
};

const namesOf = (some: ReadonlyMap<string, unknown>): ReadonlySet<string> => new Set(some.keys());

export const TEMPLATE_WORDS: Vocabulary = {
  filters: namesOf(library.filters),
  functions: namesOf(library.functions),
  methods: namesOf(library.methods),
  tests: namesOf(library.tests),
  full: true,
};

export const CONDITION_WORDS: Vocabulary = {
  filters: new Set(['length', 'count', 'default', 'lower', 'upper', 'int', 'float', 'first', 'last', 'trim', 'abs']),
  functions: new Set(['len', 'size']),
  methods: new Set(),
  tests: new Set(),
  full: false,
};
