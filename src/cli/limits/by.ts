import { userInfo } from 'node:os';
import type { Config } from '../../config/options.ts';

/** Who changes something: `--by`, or the user of this system. A user without a name in it is nobody. */
export function changedBy({ by }: Pick<Config, 'by'>): string {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}
