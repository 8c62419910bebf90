import { registerHooks } from 'node:module';
import { extname } from 'node:path';

const ENTRIES: Readonly<Record<string, string>> = {
  leasehold: '../../../index',
  'leasehold/testing': '../../../testing',
  'leasehold/compat': '../../../compat/index',
};

/**
 * A file of tasks says `import { task } from 'leasehold'` wherever it lies: in a project that has the package installed,
 * and just as well in a folder that has nothing. Where the name leads nowhere it leads to the package that runs.
 */
export function findOwnPackage(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const entry = Object.hasOwn(ENTRIES, specifier) ? ENTRIES[specifier] : undefined;
      if (entry === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return { url: new URL(`${entry}${extname(import.meta.url)}`, import.meta.url).href, shortCircuit: true };
      }
    },
  });
}
