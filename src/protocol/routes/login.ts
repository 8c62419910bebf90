import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { LoginAnswer, LoginInput, LoginLink, Me } from '../shapes/overview.ts';
import { API } from './address.ts';

/** How a browser logs in and out, and who the caller is. */
export const LOGIN_ROUTES = {
  login: route({
    method: 'POST',
    path: '/ui/login',
    access: 'open',
    does: 'Logs a browser in: the code of a login link, or a token, becomes a cookie',
    body: LoginInput,
    answer: LoginAnswer,
    onObserver: true,
  }),
  logout: route({
    method: 'POST',
    path: '/ui/logout',
    access: 'any',
    does: 'Ends the session of this browser',
    answer: z.object({}),
    onObserver: true,
  }),
  createLogin: route({
    method: 'POST',
    path: `${API}/logins`,
    access: 'read',
    does: 'A link that logs a browser in once, with the role of the caller',
    answer: LoginLink,
    status: 201,
    onObserver: true,
  }),
  me: route({ method: 'GET', path: `${API}/me`, access: 'any', does: 'The caller, and what this node is', answer: Me }),
} as const satisfies Record<string, Route>;
