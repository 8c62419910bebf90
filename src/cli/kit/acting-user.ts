import { userInfo } from 'node:os';

/** The name of the person who acts: `--by`, or the user of this system; empty for a user without a name. */
export function actingUser(by: string | undefined): string {
  if (by !== undefined) return by;
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}
