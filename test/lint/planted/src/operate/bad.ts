import { store } from '../store/good.ts'; // expect: no-restricted-imports
import { workspace } from '../workspace/good.ts'; // expect: no-restricted-imports
import { artifacts } from '../artifacts/good.ts'; // expect: no-restricted-imports
import { worker } from '../worker/good.ts'; // expect: no-restricted-imports
import { fleet } from '../fleet/good.ts'; // expect: no-restricted-imports
import { server } from '../server/good.ts'; // expect: no-restricted-imports
import { config } from '../config/good.ts'; // expect: no-restricted-imports
import { app } from '../app/good.ts'; // expect: no-restricted-imports
import { compat } from '../compat/good.ts'; // expect: no-restricted-imports
import { cli } from '../cli/good.ts'; // expect: no-restricted-imports
import { entry } from '../index.ts'; // expect: no-restricted-imports
import { self } from 'leasehold'; // expect: no-restricted-imports
import { testing } from 'leasehold/testing'; // expect: no-restricted-imports
import { env } from 'node:process'; // expect: no-restricted-imports

export const operateBreach: unknown = [store, workspace, artifacts, worker, fleet, server, config, app, compat, cli, entry, self, testing, env];
