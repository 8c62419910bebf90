import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** In a checkout as it was built there, in the package beside the rest of it. */
const PLACES = ['../../web/dist/', '../ui/'].map((place) => fileURLToPath(new URL(place, import.meta.url)));

/** Where the built web UI lies; undefined: it is not built. */
export function uiFolder(places: readonly string[] = PLACES): string | undefined {
  return places.find((place) => existsSync(join(place, 'index.html')));
}
