import { compat } from '../compat/good.ts'; // expect: no-restricted-imports
import { cli } from '../cli/good.ts'; // expect: no-restricted-imports
import { entry } from '../index.ts'; // expect: no-restricted-imports
import { self } from 'leasehold'; // expect: no-restricted-imports
import { testing } from 'leasehold/testing'; // expect: no-restricted-imports
import { env } from 'node:process'; // expect: no-restricted-imports

export const appBreach: unknown = [compat, cli, entry, self, testing, env];
