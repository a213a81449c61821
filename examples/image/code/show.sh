# What a task with an image sees. Ends with 1 when something is not as it should be.
check() { "$@" || { echo "not so: $*"; exit 1; }; }
check [ "$(cat /etc/motd)" = "this is the image" ]
check [ "$FLAVOUR" = busybox ]
check [ ! -e /usr ]                          # nothing of the machine is there
check touch /tmp/mine "$DANLU_OUTPUT_DIR/rank-$RANK.txt" "$HOME/mine"
check grep -q "$MASTER_ADDR" /etc/hosts
echo "rank $RANK of $WORLD_SIZE: $(cat /etc/motd), as $(whoami) on $(hostname | sed 's/.*-worker/worker/')"
