// Keeps what the page needs, so that it works without a network after the first visit. The build writes VERSION and FILES.
const VERSION = "{version}";
const FILES = ["{files}"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = (names) => Promise.all(names.filter((name) => name.startsWith("mpslint-") && name !== VERSION).map((name) => caches.delete(name)));
  event.waitUntil(caches.keys().then(old).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  event.respondWith(caches.match(event.request, { ignoreSearch: true }).then((known) => known ?? fetch(event.request)));
});
