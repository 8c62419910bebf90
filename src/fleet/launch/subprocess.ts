import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fault } from '../../core/errors.ts';
import type { LauncherKind } from '../launcher.ts';
import { onlySettings, textsOf } from './local-settings.ts';

const SETTINGS = ['handlers', 'allow', 'cwd'];

/**
 * Workers as processes of this host, which go on when the process that started them has ended: `leasehold worker`, on the store of the
 * process that checks. `handlers` are files with tasks, `allow` is what `--allow` takes, `cwd` is where they run.
 */
export const SUBPROCESS: LauncherKind = {
  kind: 'subprocess',
  make(settings, { leasehold, localEnv }) {
    onlySettings('subprocess', settings, SETTINGS);
    const handlers = textsOf('handlers', settings['handlers']);
    const allow = textsOf('allow', settings['allow'], 2);
    const odd = allow.find((one) => one !== 'shell' && one !== 'js');
    if (odd !== undefined)
      throw fault('INVALID_INPUT', { field: 'launcher.allow', problem: 'its entries are "shell" and "js"' });
    const [cwd] = textsOf('cwd', settings['cwd'] === undefined ? undefined : [settings['cwd']]);
    const more = [
      ...handlers.flatMap((file) => ['--handlers', file]),
      // What may run is said by the pool, not by the environment of whoever checks it.
      '--allow',
      allow.length === 0 ? 'none' : allow.join(','),
    ];
    const [program, ...first] = leasehold;
    return {
      async launch({ args, env, signal }) {
        signal.throwIfAborted();
        const child = spawn(program, [...first, ...args, ...more], {
          detached: true,
          stdio: 'ignore',
          env: { ...localEnv, ...env },
          ...(cwd === undefined ? {} : { cwd }),
        });
        // A failed start is an event: without a listener it would end this process.
        await once(child, 'spawn', { signal });
        child.on('error', () => {});
        child.unref();
        return { started: `pid ${child.pid}` };
      },
    };
  },
};
