import { inner } from '../inner.ts';
import { core } from '../../core/good.ts';
import { engine } from '../../engine/good.ts';
import { protocol } from '../../protocol/good.ts';
import { client } from '../../client/good.ts';
import { flow } from '../../flow/good.ts';
import { store } from '../../store/good.ts'; // expect: no-restricted-imports
import { workspace } from '../../workspace/good.ts'; // expect: no-restricted-imports
import { artifacts } from '../../artifacts/good.ts'; // expect: no-restricted-imports
import { worker } from '../../worker/good.ts'; // expect: no-restricted-imports
import { fleet } from '../../fleet/good.ts'; // expect: no-restricted-imports
import { server } from '../../server/good.ts'; // expect: no-restricted-imports
import { config } from '../../config/good.ts'; // expect: no-restricted-imports
import { app } from '../../app/good.ts'; // expect: no-restricted-imports
import { compat } from '../../compat/good.ts'; // expect: no-restricted-imports
import { cli } from '../../cli/good.ts'; // expect: no-restricted-imports

export const nested: unknown = [inner, core, engine, protocol, client, flow, store, workspace, artifacts, worker, fleet, server, config, app, compat, cli];
