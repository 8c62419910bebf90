import { userInfo } from 'node:os';

/** Who changes or decides something: `--by`, or the user of this system. A user without a name in it is nobody. */
export function actingUser(by: string | undefined): string {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}
