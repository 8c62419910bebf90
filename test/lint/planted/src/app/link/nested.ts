import { inner } from '../inner.ts';
import { core } from '../../core/good.ts';
import { flow } from '../../flow/good.ts';
import { store } from '../../store/good.ts';
import { engine } from '../../engine/good.ts';
import { protocol } from '../../protocol/good.ts';
import { workspace } from '../../workspace/good.ts';
import { artifacts } from '../../artifacts/good.ts';
import { worker } from '../../worker/good.ts';
import { fleet } from '../../fleet/good.ts';
import { server } from '../../server/good.ts';
import { client } from '../../client/good.ts';
import { operate } from '../../operate/good.ts';
import { config } from '../../config/good.ts';
import { compat } from '../../compat/good.ts'; // expect: no-restricted-imports
import { cli } from '../../cli/good.ts'; // expect: no-restricted-imports

export const nested: unknown = [inner, core, flow, store, engine, protocol, workspace, artifacts, worker, fleet, server, client, operate, config, compat, cli];
