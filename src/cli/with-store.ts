import type { Operator } from '../app/operate.ts';
import type { Config, OptionKey } from '../config/options.ts';

/** What every command that works on a store takes. */
export const STORE_OPTIONS = ['store', 'dataDir', 'json'] as const satisfies readonly OptionKey[];

/** Opens the store for the time of a command. Loaded here and not before: the help of a command needs no store. */
export async function withStore<T>(
  config: Pick<Config, 'store' | 'durability'>,
  work: (operator: Operator) => Promise<T>,
  options: { readonly create?: boolean } = {},
): Promise<T> {
  const { operate } = await import('../app/operate.ts');
  const operator = await operate({ store: config.store, durability: config.durability, ...options });
  try {
    return await work(operator);
  } finally {
    await operator.close();
  }
}
