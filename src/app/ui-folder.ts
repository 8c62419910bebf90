import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** In a checkout: where it is built. In the package: beside the rest of it. */
const PLACES = ['../../web/dist/', '../ui/'].map((place) => fileURLToPath(new URL(place, import.meta.url)));

/** The folder of the built web UI; undefined: it is not built. */
export function uiFolder(places: readonly string[] = PLACES): string | undefined {
  return places.find((place) => existsSync(join(place, 'index.html')));
}
