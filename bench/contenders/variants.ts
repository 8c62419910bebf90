/** The library with other words at its pushes; see `user/scheduling.ts`. */
import type { Variants } from '../user/scheduling.ts';
import { library } from './library.ts';

const LANES = 10_000;
const LIMIT = 'wide';

export function variantsOf(url: (place: string) => string): Variants {
  return {
    limited: library({
      url,
      without: [],
      name: 'library, limit',
      prepare: (app) => app.setLimit(LIMIT, { concurrent: 1_000_000 }),
      pushOptions: () => ({ limits: [LIMIT] }),
    }),
    lanes: library({
      url,
      without: [],
      name: 'library, lanes',
      pushOptions: (n) => ({ fairness: `lane-${n % LANES}` }),
    }),
  };
}
