import { inner } from '../inner.ts';
import { client } from '../../client/good.ts';
import { operate } from '../../operate/good.ts';
import { config } from '../../config/good.ts';
import { app } from '../../app/good.ts';
import { compat } from '../../compat/good.ts';
import { core } from '../../core/good.ts'; // expect: no-restricted-imports
import { flow } from '../../flow/good.ts'; // expect: no-restricted-imports
import { store } from '../../store/good.ts'; // expect: no-restricted-imports
import { engine } from '../../engine/good.ts'; // expect: no-restricted-imports
import { protocol } from '../../protocol/good.ts'; // expect: no-restricted-imports
import { workspace } from '../../workspace/good.ts'; // expect: no-restricted-imports
import { artifacts } from '../../artifacts/good.ts'; // expect: no-restricted-imports
import { worker } from '../../worker/good.ts'; // expect: no-restricted-imports
import { fleet } from '../../fleet/good.ts'; // expect: no-restricted-imports
import { server } from '../../server/good.ts'; // expect: no-restricted-imports

export const nested: unknown = [inner, client, operate, config, app, compat, core, flow, store, engine, protocol, workspace, artifacts, worker, fleet, server];
